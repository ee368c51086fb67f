create or replace function memstore.get_items(actor uuid, keys jsonb)
returns setof memstore.item
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
-- So that items are looked up by index, whatever the statistics say.
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
/*
get_items: reads items by their paths.

Example:
  select value ->> 'text' from memstore.get_items(
    memstore.find_user('account-1'),
    '[{"namespace": ["files", "notes"], "key": "plan.md"}, {"namespace": ["files"], "key": "none"}]'
  );
Result:
  Ship on Tuesday.

Arguments
  actor  uuid   the account
  keys   jsonb  an array of up to 10,000 objects with namespace and key
Returns
  the items that are there, in the order of keys
Errors
  actor_unknown
  argument_invalid  keys is not of this form
*/
begin
  perform memstore.require_actor(get_items.actor);
  perform memstore.check_objects('keys', keys, '{"namespace": "_text", "key": "text"}');
  return query
  select i.namespace, i.key, i.value, i.version, i.ttl_seconds, i.expires_at, i.inserted_at, i.updated_at
  from rows from (jsonb_to_recordset(keys) as (namespace text[] collate "C", key text collate "C")) with ordinality g
  -- OFFSET makes each one look-up by the path.
  cross join lateral (
    select i.*
    from memstore.items i
    where i.user_id = get_items.actor
    and i.namespace = g.namespace
    and i.key = g.key
    offset 0
  ) i
  where i.expires_at is null
  or i.expires_at > statement_timestamp()
  order by g.ordinality;
end
$$;
