-- Returns an account and locks it until the transaction ends (FOR NO KEY UPDATE): other writers of the account block.
-- An unknown or erased one is refused. It comes before every other lock that the write may wait for: a memory's id,
-- the name of an embedding model.
--   field: the argument that names the account
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

comment on function memstore.lock_account(uuid, text) is 'Returns an account, locked against other writers.';
