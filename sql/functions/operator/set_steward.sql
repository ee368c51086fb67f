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
  actor_unknown; users_steward_shape
*/
create or replace function memstore.set_steward(user_id uuid, steward boolean)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_user memstore.users;
begin
  select u.*
  into v_user
  from memstore.users u
  where u.id = set_steward.user_id
  and u.erased_at is null
  for no key update;
  if not found then
    perform memstore.refuse('actor_unknown', 'user_id');
  end if;
  v_user.steward := set_steward.steward;
  if not memstore.users_obey(v_user) then
    perform memstore.refuse_row('users', memstore.users_broken(v_user));
  end if;

  update memstore.users u
  set steward = v_user.steward
  where u.id = v_user.id;
end
$$;

comment on function memstore.set_steward(uuid, boolean) is 'Marks an account as a steward, or unmarks it.';
