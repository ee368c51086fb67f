-- Returns the acting account of a write and keeps it from being erased until the transaction ends (FOR KEY SHARE);
-- other writers of the account don't block. An unknown or erased one is refused.
create or replace function memstore.lock_actor(actor uuid)
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
  where u.id = lock_actor.actor
  and u.erased_at is null
  for key share;
  if not found then
    perform memstore.refuse('actor_unknown', 'actor');
  end if;
  return v_user;
end
$$;

comment on function memstore.lock_actor(uuid) is 'Returns the acting account of a write, locked against erasure.';
