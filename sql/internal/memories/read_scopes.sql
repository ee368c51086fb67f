-- The scopes that a read is for, trimmed as those of memories are; NULL for all.
create or replace function memstore.read_scopes(scopes text[])
returns text[]
language plpgsql
stable
security invoker
as $$
begin
  if scopes is null then
    return null;
  end if;
  if cardinality(scopes) > 100 then
    perform memstore.refuse_argument('scopes', 'an array of at most 100 scopes');
  end if;
  return array(select memstore.trim_text(s.scope) from unnest(scopes) s (scope));
end
$$;

comment on function memstore.read_scopes(text[]) is 'The scopes that a read is for; NULL for all.';
