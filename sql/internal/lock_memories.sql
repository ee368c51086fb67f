-- Locks the accounts of some memories and the memories themselves, each in the order of ids: every writer
-- takes its locks in this order, so that no two wait for each other.
-- actor: locked with the accounts, and refused where it is unknown.
create or replace function memstore.lock_memories(actor uuid, ids uuid[])
returns memstore.users
language plpgsql
volatile
security invoker
as $$
declare
  v_user memstore.users;
  v_owners uuid[];
begin
  select array_agg(distinct m.user_id)
  into v_owners
  from memstore.memories m
  where m.id = any (lock_memories.ids)
  and m.user_id <> lock_memories.actor;

  if v_owners is null then
    v_user := memstore.lock_actor(lock_memories.actor);
  else
    perform 1
    from memstore.users u
    where u.id = any (v_owners || lock_memories.actor)
    order by u.id
    for no key update;
    v_user := memstore.lock_actor(lock_memories.actor);
  end if;

  perform 1
  from memstore.memories m
  where m.id = any (lock_memories.ids)
  order by m.id
  for no key update;
  return v_user;
end
$$;

comment on function memstore.lock_memories(uuid, uuid[]) is 'Locks accounts, then memories, in the order of ids.';
