-- Locks what a correction changes until the transaction ends, and returns the acting account: that account and those
-- of the claims among the memories, then the memories, each in the order of ids. Every writer locks in this order, and
-- the row of claim_counter last, so that writers don't deadlock. An unknown actor is refused; memories that the actor
-- has no standing on are neither locked nor told of.
create or replace function memstore.lock_memories(actor uuid, ids uuid[])
returns memstore.users
language plpgsql
volatile
security invoker
-- The server would plan each call anew, for the number of ids; and a plan is kept while a table grows.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_user memstore.users;
begin
  perform 1
  from memstore.users u
  -- An array, because OR with a subquery would read every account.
  where u.id = any (
    array(select m.user_id from memstore.memories m where m.id = any (lock_memories.ids) and m.bucket = 'system')
    || lock_memories.actor
  )
  order by u.id
  for no key update;
  v_user := memstore.lock_actor(lock_memories.actor);

  -- IS NOT DISTINCT FROM, here and wherever a row is read by its id, because it finds no index: without statistics, or with
  -- those of small accounts, the account's index looks as good as the key, and reads all that the account has.
  perform 1
  from memstore.memories m
  where m.id = any (lock_memories.ids)
  and (m.user_id is not distinct from lock_memories.actor or m.bucket = 'system')
  order by m.id
  for no key update;
  return v_user;
end
$$;

comment on function memstore.lock_memories(uuid, uuid[]) is 'Locks accounts, then memories, each in the order of ids.';
