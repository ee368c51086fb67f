-- The acting account of a write that changes how much the account holds, locked until the transaction ends against
-- others of these: what such a write may wait for next, an id or the name of an embedding model, comes after the account.
-- An unknown one is refused.
create or replace function memstore.lock_writer(actor uuid)
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
  where u.id = lock_writer.actor
  and u.erased_at is null
  for no key update;
  if not found then
    perform memstore.refuse('actor_unknown', 'actor');
  end if;
  return v_user;
end
$$;

comment on function memstore.lock_writer(uuid) is 'The acting account of a write that changes how much the account holds, locked.';
