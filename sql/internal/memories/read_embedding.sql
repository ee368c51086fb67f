-- Reads a JSON array of numbers as an embedding; NULL for what is no array. Its rules are not checked.
create or replace function memstore.read_embedding(numbers jsonb)
returns real[]
language plpgsql
immutable parallel safe
security invoker
as $$
declare
  v_text text;
begin
  if coalesce(jsonb_typeof(numbers), '') <> 'array' then
    return null;
  end if;
  v_text := numbers::text;
  -- The usual numbers all at once. A longer run of digits may be beyond a real's range, and its cast fail.
  if v_text !~ '[0-9]{38}' then
    return replace(replace(v_text, '[', '{'), ']', '}')::real[];
  end if;
  -- The cast fails beyond a real's range: too large a number becomes infinity, which the rule refuses, and too small a
  -- one zero. 1e-45 is the smallest real.
  return (
    select coalesce(
      array_agg(
        case
          when abs(n.number) > 1e7 then 'infinity'::real
          when abs(n.number) < 1e-45 then 0::real
          else n.number::real
        end
        order by e.position
      ),
      '{}'
    )
    from jsonb_array_elements(numbers) with ordinality e (value, position)
    cross join lateral (select nullif(e.value, 'null')::numeric as number) n
  );
end
$$;

comment on function memstore.read_embedding(jsonb) is 'Reads a JSON array of numbers as an embedding.';
