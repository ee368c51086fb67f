create or replace function memstore.set_maximum_live_memories(user_id uuid, maximum_live_memories integer)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
set_maximum_live_memories: sets the ceiling of one account.

Example:
  select memstore.set_maximum_live_memories(memstore.find_user('account-1'), 1000);
Result:

Operator only. An account that holds more than its ceiling keeps its memories: it can correct and delete, and add
nothing. The ceiling of new accounts is a setting (configure).

Arguments
  user_id                uuid     the account
  maximum_live_memories  integer  live memories at most, of all buckets, tombstones aside; 0 or more
Errors
  actor_unknown
  users_maximum_live_memories_shape
*/
declare
  v_user memstore.users := memstore.lock_account(set_maximum_live_memories.user_id, 'user_id');
begin
  v_user.maximum_live_memories := set_maximum_live_memories.maximum_live_memories;
  perform memstore.write_account(v_user);
end
$$;
