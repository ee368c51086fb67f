-- The account that an operator works on, locked until the transaction ends; an unknown one is refused.
create or replace function memstore.lock_user(user_id uuid)
returns memstore.users
language plpgsql
volatile
security invoker
as $$
declare
  v_user memstore.users;
begin
  select u.*
  into v_user
  from memstore.users u
  where u.id = lock_user.user_id
  and u.erased_at is null
  for no key update;
  if not found then
    perform memstore.refuse('actor_unknown', 'user_id');
  end if;
  return v_user;
end
$$;

comment on function memstore.lock_user(uuid) is 'The account that an operator works on, locked.';
