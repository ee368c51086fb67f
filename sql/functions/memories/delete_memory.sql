create or replace function memstore.delete_memory(actor uuid, id uuid)
returns memstore.memory
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
/*
delete_memory: deletes a memory.

Example:
  select body from memstore.delete_memory(
    memstore.find_user('account-1'),
    '00000000-0000-4000-8000-000000000001'
  );
Result:
  I use pnpm, not npm.

The row is gone. Memories that it had replaced stay superseded, and point at its own replacement, or at nothing.

Arguments
  actor  uuid  the account
  id     uuid  the memory, live or superseded
Returns
  the memory as it was
Errors
  actor_unknown
  memory_not_found  no memory of the account has the id
*/
declare
  v_accounts uuid[] := memstore.chain_accounts(delete_memory.actor, array[delete_memory.id]);
  v_user memstore.users;
  v_memory memstore.memory;
begin
  perform 1
  from memstore.users u
  where u.id = any (delete_memory.actor || v_accounts)
  order by u.id
  for no key update;
  v_user := memstore.lock_actor(delete_memory.actor);

  perform 1
  from memstore.memories m
  where m.id = delete_memory.id
  -- IS TRUE, here and below, leaves the look-up to the key: the account's index would read all of its rows.
  and (m.user_id = v_user.id) is true;
  if not found then
    perform memstore.refuse('memory_not_found', 'id');
  end if;

  perform 1
  from memstore.memories m
  where m.id = any (
    array(
      select unnest(array[t.id, t.superseded_by_id])
      from memstore.memories t
      where t.id = delete_memory.id
    )
    || array(select p.id from memstore.memories p where p.superseded_by_id = delete_memory.id)
  )
  order by m.id
  for update;

  update memstore.memories p
  set superseded_by_id = m.superseded_by_id, updated_at = clock_timestamp()
  from memstore.memories m
  where m.id = delete_memory.id
  and m.superseded_by_id is not null
  and p.superseded_by_id = delete_memory.id;

  delete from memstore.memories m
  where m.id = delete_memory.id
  and (m.user_id = v_user.id) is true
  returning (memstore.to_memory(m)).*
  into v_memory;
  if not found then
    perform memstore.refuse('memory_not_found', 'id');
  end if;
  return v_memory;
end
$$;
