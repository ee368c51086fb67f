-- As lock_account, and refuses an account that is no steward. It reads nothing but the account, so that the refusal
-- reveals nothing else. FOR NO KEY UPDATE blocks while set_steward does, and a snapshot from before gets 40001; FOR
-- SHARE would deadlock once two transactions of a steward also insert.
create or replace function memstore.lock_steward(actor uuid)
returns memstore.users
language plpgsql
volatile
security invoker
as $$
declare
  v_user memstore.users := memstore.lock_account(lock_steward.actor, 'actor');
begin
  if not v_user.steward then
    perform memstore.refuse('steward_required', 'actor');
  end if;
  return v_user;
end
$$;

comment on function memstore.lock_steward(uuid) is 'Returns the acting steward of a write, locked against other writers.';
