create or replace function memstore.renew_items(actor uuid, keys jsonb)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
-- So that items are looked up by index, whatever the statistics say.
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
/*
renew_items: starts the time to live of items again.

Example:
  select memstore.renew_items(
    memstore.find_user('account-1'),
    '[{"namespace": ["files", "notes"], "key": "plan.md"}]'
  );
Result:
  0

For items that live as long as they are read. Reading doesn't renew by itself, so that it works on a replica. The
version stays. What another call is writing meanwhile is left to that call.

Arguments
  actor  uuid   the account
  keys   jsonb  an array of up to 10,000 objects with namespace and key
Returns
  how many items were renewed: those that are there and have a time to live
Errors
  actor_unknown
  argument_invalid  keys is not of this form
*/
declare
  v_user memstore.users := memstore.lock_actor(renew_items.actor);
  v_ids uuid[];
  v_renewed bigint;
begin
  perform memstore.check_objects('keys', keys, '{"namespace": "_text", "key": "text"}');
  -- SKIP LOCKED: a call that writes them in another order would deadlock.
  v_ids := array(
    select i.id
    from rows from (jsonb_to_recordset(keys) as (namespace text[] collate "C", key text collate "C")) g
    cross join lateral (
      select i.id
      from memstore.items i
      where i.user_id = v_user.id
      and i.namespace = g.namespace
      and i.key = g.key
      and i.expires_at > clock_timestamp()
      for no key update skip locked
    ) i
  );
  update memstore.items i
  set expires_at = clock_timestamp() + i.ttl_seconds * interval '1 second'
  where i.id = any (v_ids);
  get diagnostics v_renewed = row_count;
  return v_renewed;
end
$$;
