-- The signs of an embedding's numbers, a bit each: 1 where it is above 0. Stored in claim_signs: a change of what it
-- gives needs a migration that empties the table.
create or replace function memstore.sign_bits(embedding real[])
returns bit varying
language plpgsql
immutable parallel safe
security invoker
as $$
begin
  return (
    select string_agg(case when n.number > 0 then '1' else '0' end, '')::bit varying
    -- OFFSET has unnest stream its numbers, in their order, instead of storing them first.
    from (select unnest(sign_bits.embedding) as number offset 0) n
  );
end
$$;

comment on function memstore.sign_bits(real[]) is 'The signs of an embedding''s numbers, a bit each.';
