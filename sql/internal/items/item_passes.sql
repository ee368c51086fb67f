-- Whether a value passes a filter, as read_item_filter() has read it. The planner inlines it.
create or replace function memstore.item_passes(value jsonb, path jsonpath, equal jsonb, unequal jsonb)
returns boolean
language sql
immutable parallel safe
security invoker
as $$
  select (path is null or coalesce(value @@ path, false))
    and (
      equal is null
      or not exists (select from jsonb_each(equal) e (key, operand) where (value -> e.key = e.operand) is not true)
    )
    and (
      unequal is null
      or not exists (select from jsonb_each(unequal) e (key, operand) where (value -> e.key <> e.operand) is not true)
    )
$$;

comment on function memstore.item_passes(jsonb, jsonpath, jsonb, jsonb) is 'Whether a value passes a filter.';
