create or replace function memstore.set_maximum_items(user_id uuid, maximum_items integer default null)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
set_maximum_items: sets how many items one account may hold.

Example:
  select memstore.set_maximum_items(memstore.find_user('account-1'), 100000);
Result:

Operator only. An account that holds more keeps its items: it can overwrite and delete, and add nothing. How many others
may hold is a setting (configure).

Arguments
  user_id        uuid     the account
  maximum_items  integer  items at most, 0 or more; as many as the settings say where left out
Errors
  actor_unknown
  users_maximum_items_shape
*/
declare
  v_user memstore.users := memstore.lock_account(set_maximum_items.user_id, 'user_id');
begin
  v_user.maximum_items := set_maximum_items.maximum_items;
  perform memstore.write_account(v_user);
end
$$;
