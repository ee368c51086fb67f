create or replace function memstore.get_memory(actor uuid, id uuid)
returns memstore.memory
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
/*
get_memory: returns one memory by its id.

Example:
  select bucket, body from memstore.get_memory(
    memstore.find_user('account-1'),
    '00000000-0000-4000-8000-000000000001'
  );
Result:
  user|I use pnpm, not npm.

Arguments
  actor  uuid  the account
  id     uuid  the memory, live or superseded
Returns
  the memory
Errors
  actor_unknown
  memory_not_found  no memory of the account has the id
*/
declare
  v_memory memstore.memory;
begin
  perform memstore.require_actor(get_memory.actor);
  select (memstore.to_memory(m)).*
  into v_memory
  from memstore.memories m
  where m.id = get_memory.id
  -- IS TRUE leaves the look-up to the key: the account's index would read all of its rows.
  and (m.user_id = get_memory.actor) is true;
  if not found then
    perform memstore.refuse('memory_not_found', 'id');
  end if;
  return v_memory;
end
$$;
