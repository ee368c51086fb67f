create or replace function memstore.set_steward(user_id uuid, steward boolean)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
set_steward: marks an account as a steward of the system bucket, or unmarks it.

Example:
  select memstore.set_steward(memstore.find_user('account-1'), true);
Result:

Operator only.

Arguments
  user_id  uuid     the account
  steward  boolean  whether it is a steward
Errors
  actor_unknown
  users_steward_shape
*/
declare
  v_user memstore.users := memstore.lock_account(set_steward.user_id, 'user_id');
begin
  v_user.steward := set_steward.steward;
  perform memstore.write_account(v_user);
end
$$;
