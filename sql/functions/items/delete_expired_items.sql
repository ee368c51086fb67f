create or replace function memstore.delete_expired_items(actor uuid)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
-- So that the index of what expires is read, whatever the statistics say.
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
/*
delete_expired_items: deletes the account's items whose time to live has passed.

Example:
  select memstore.delete_expired_items(memstore.find_user('account-1'));
Result:
  0

They are as ones that are absent already, and only count. For all accounts at once there is prune_items, the operator's.

Arguments
  actor  uuid  the account
Returns
  how many items were deleted
Errors
  actor_unknown
*/
declare
  v_user memstore.users := memstore.lock_account(delete_expired_items.actor, 'actor');
  -- No index is read up to a volatile function.
  v_now timestamptz := clock_timestamp();
  v_ids uuid[] := array(
    select i.id
    from memstore.items i
    where i.user_id = v_user.id
    and i.expires_at <= v_now
    for update
  );
  v_deleted bigint;
begin
  delete from memstore.item_embeddings e
  where e.item_id = any (v_ids);
  delete from memstore.items i
  where i.id = any (v_ids);
  get diagnostics v_deleted = row_count;
  return v_deleted;
end
$$;
