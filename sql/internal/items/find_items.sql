-- The account's items in a namespace or below it, that are not expired and pass a filter. A label is compared whole, by a
-- range of the index under the collation "C": no label has a character below U+0001.
--   namespace: the labels that namespaces begin with; none for all
--   path, equal, unequal: of read_item_filter()
create or replace function memstore.find_items(
  actor uuid,
  namespace text[],
  path jsonpath,
  equal jsonb,
  unequal jsonb
)
returns table (id uuid, language text, search_vector tsvector, updated_at timestamptz)
language plpgsql
stable
security invoker
as $$
declare
  v_depth integer := cardinality(namespace);
  v_first text[] := namespace;
  v_end text[] := namespace[:v_depth - 1] || (namespace[v_depth] || e'\x01');
begin
  -- Two statements: of one, the plan for any namespace would read all of the account's items.
  if coalesce(v_depth, 0) = 0 then
    return query
    select i.id, i.language, i.search_vector, i.updated_at
    from memstore.items i
    where i.user_id = actor
    and (i.expires_at is null or i.expires_at > statement_timestamp())
    and memstore.item_passes(i.value, path, equal, unequal);
  else
    return query
    select i.id, i.language, i.search_vector, i.updated_at
    from memstore.items i
    where i.user_id = actor
    and i.namespace >= v_first collate "C"
    and i.namespace < v_end collate "C"
    and (i.expires_at is null or i.expires_at > statement_timestamp())
    and memstore.item_passes(i.value, path, equal, unequal);
  end if;
end
$$;

comment on function memstore.find_items(uuid, text[], jsonpath, jsonb, jsonb) is
  'The account''s items in a namespace or below it that pass a filter.';
