create or replace function memstore.item_violations(item jsonb)
returns table (name text, field text, message text)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
item_violations: lists every rule that an item would break.

Example:
  select name, field from memstore.item_violations('{"namespace": ["a", ""], "key": "k", "value": [1]}');
Result:
  items_namespace_shape|namespace
  items_value_shape|value

For forms and previews: it writes nothing and reads no account, so it says nothing of maxima and versions, nor of
embeddings.

Arguments
  item  jsonb  an object as put_items takes them
Returns
  name, field and message of each broken rule, in the order of the fields; none for a valid item
Errors
  argument_invalid  item is not an object that put_items would take
*/
declare
  v_user memstore.users;
begin
  v_user.id := gen_random_uuid();
  v_user.language := 'english';
  return query
  select b.value ->> 'name', b.value ->> 'field', b.value ->> 'message'
  from unnest(
    memstore.read_items(
      v_user,
      -- What is to be deleted has no value.
      jsonb_build_array(case when item -> 'value' = 'null' then item || '{"value": {}}' else item end),
      checked => false
    )
  ) i
  cross join lateral jsonb_array_elements(memstore.items_broken(i)) with ordinality b (value, position)
  order by b.position;
end
$$;
