-- The account's items in a namespace or below it, that are not expired and pass a filter. A label is compared whole, by a
-- range of the index under the collation "C": no label has a character below U+0001, and none is longer than the one
-- that ends the range of all. The planner inlines it, so that what its caller doesn't read isn't copied, such as lexemes.
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
language sql
stable
security invoker
as $$
  select i.id, i.language, i.search_vector, i.updated_at
  from memstore.items i
  where i.user_id = actor
  and i.namespace >= coalesce(find_items.namespace, '{}') collate "C"
  and i.namespace < case
    when cardinality(find_items.namespace) > 0 then
      find_items.namespace[:cardinality(find_items.namespace) - 1]
      || (find_items.namespace[cardinality(find_items.namespace)] || e'\x01')
    else array[repeat(e'\U0010FFFF', 501)]
  end collate "C"
  and (i.expires_at is null or i.expires_at > statement_timestamp())
  and (path is null or i.value @@ path)
  and (
    equal is null
    or not exists (select from jsonb_each(equal) e (key, operand) where (i.value -> e.key = e.operand) is not true)
  )
  and (
    unequal is null
    or not exists (select from jsonb_each(unequal) e (key, operand) where (i.value -> e.key <> e.operand) is not true)
  )
$$;

comment on function memstore.find_items(uuid, text[], jsonpath, jsonb, jsonb) is
  'The account''s items in a namespace or below it that pass a filter.';
