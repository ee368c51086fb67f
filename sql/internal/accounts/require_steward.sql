-- For reads: refuses an account that is unknown or erased, or no steward. It reads nothing but the account, so that
-- the refusal reveals nothing else, and locks nothing.
create or replace function memstore.require_steward(actor uuid)
returns void
language plpgsql
stable
security invoker
as $$
begin
  perform memstore.require_actor(require_steward.actor);
  perform 1
  from memstore.users u
  where u.id = require_steward.actor
  and u.steward;
  if not found then
    perform memstore.refuse('steward_required', 'actor');
  end if;
end
$$;

comment on function memstore.require_steward(uuid) is 'Refuses an account that is no steward.';
