create or replace function memstore.memory_history(actor uuid, id uuid)
returns setof memstore.memory
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
/*
memory_history: lists the whole chain of a memory, oldest first.

Example:
  select memstore.supersede_memory(
    memstore.find_user('account-1'),
    '00000000-0000-4000-8000-000000000001',
    'I use pnpm 9, not npm.'
  );
  select body, superseded_at is null as live
  from memstore.memory_history(memstore.find_user('account-1'), '00000000-0000-4000-8000-000000000001');
Result:
  I use pnpm, not npm.|f
  I use pnpm 9, not npm.|t

The chain: the memory, those that it replaced, directly or not, those that replaced it, and all that these replaced.
The chain of a claim may cross accounts; its author and stewards may read it.

Arguments
  actor  uuid  the account
  id     uuid  any memory of the chain that is the account's own (or a claim, for a steward)
Returns
  memories, oldest first
Errors
  actor_unknown
  memory_not_found  the account has no such memory; for a steward: and there is no such claim
*/
begin
  perform memstore.require_actor(memory_history.actor);
  perform 1
  from memstore.memories m
  join memstore.users u on u.id = memory_history.actor
  where m.id = memory_history.id
  and (m.user_id is not distinct from u.id or m.bucket = 'system' and u.steward);
  if not found then
    perform memstore.refuse('memory_not_found', 'id');
  end if;

  return query
  select (r.memory).*
  from memstore.chains_of(array[memory_history.id]) c
  -- OFFSET makes each row one look-up.
  cross join lateral (
    select memstore.to_memory(m) as memory
    from memstore.memories m
    where m.id = c.member
    offset 0
  ) r
  order by (r.memory).inserted_at, (r.memory).id;
end
$$;
