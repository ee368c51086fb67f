-- For reads: refuses an account that is NULL, unknown or erased. It locks nothing.
create or replace function memstore.require_actor(actor uuid)
returns void
language plpgsql
stable
security invoker
as $$
begin
  perform 1
  from memstore.users u
  where u.id = require_actor.actor
  and u.erased_at is null;
  if not found then
    perform memstore.refuse('actor_unknown', 'actor');
  end if;
end
$$;

comment on function memstore.require_actor(uuid) is 'Refuses an account that is unknown or erased.';
