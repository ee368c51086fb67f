-- An account, locked until the transaction ends against whoever else changes it or how much it holds: what a write may
-- wait for next, an id or the name of an embedding model, comes after the account. An unknown one is refused.
--   field: the argument that named it
create or replace function memstore.lock_account(id uuid, field text)
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
  where u.id = lock_account.id
  and u.erased_at is null
  for no key update;
  if not found then
    perform memstore.refuse('actor_unknown', field);
  end if;
  return v_user;
end
$$;

comment on function memstore.lock_account(uuid, text) is 'An account, locked against whoever else changes it.';
