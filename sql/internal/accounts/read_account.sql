-- Returns an account without locking it, for what a write prepares before it locks (lock_account). An unknown or erased
-- one is refused.
--   field: the argument that names the account
create or replace function memstore.read_account(id uuid, field text)
returns memstore.users
language plpgsql
stable
security invoker
as $$
declare
  v_user memstore.users;
begin
  select u.*
  into v_user
  from memstore.users u
  where u.id = read_account.id
  and u.erased_at is null;
  if not found then
    perform memstore.refuse('actor_unknown', field);
  end if;
  return v_user;
end
$$;

comment on function memstore.read_account(uuid, text) is 'Returns an account, without a lock.';
