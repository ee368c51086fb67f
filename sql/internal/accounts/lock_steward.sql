-- The acting account of a write that only stewards may do. It reads nothing else, so a refusal tells nothing.
create or replace function memstore.lock_steward(actor uuid)
returns memstore.users
language plpgsql
volatile
security invoker
as $$
declare
  v_user memstore.users := memstore.lock_actor(lock_steward.actor);
begin
  if not v_user.steward then
    perform memstore.refuse('steward_required', 'actor');
  end if;
  return v_user;
end
$$;

comment on function memstore.lock_steward(uuid) is 'The acting steward of a write, locked against erasure.';
