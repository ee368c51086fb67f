create or replace function memstore.delete_history(actor uuid, id uuid)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
/*
delete_history: deletes a memory with its whole chain.

Example:
  select memstore.supersede_memory(
    memstore.find_user('account-1'),
    '00000000-0000-4000-8000-000000000001',
    'I use pnpm 9, not npm.'
  );
  select memstore.delete_history(memstore.find_user('account-1'), '00000000-0000-4000-8000-000000000001');
Result:
  2

Where delete_memory leaves the texts that a memory had replaced, this leaves none of the account's: all that
memory_history lists go, in one step. Of a claim's chain, what other accounts wrote stays, and points at what follows
it, or at nothing.

Arguments
  actor  uuid  the account
  id     uuid  any memory of the chain, live or superseded
Returns
  how many memories were deleted
Errors
  actor_unknown
  memory_not_found  no memory of the account has the id
*/
declare
  v_accounts uuid[] := memstore.chain_accounts(delete_history.actor, array[delete_history.id]);
  v_user memstore.users;
  v_all uuid[];
  v_own uuid[];
  v_deleted bigint;
begin
  perform 1
  from memstore.users u
  where u.id = any (delete_history.actor || v_accounts)
  order by u.id
  for no key update;
  v_user := memstore.lock_actor(delete_history.actor);

  perform 1
  from memstore.memories m
  where m.id = delete_history.id
  -- IS TRUE leaves the look-up to the key: the account's index would read all of its rows.
  and (m.user_id = v_user.id) is true;
  if not found then
    perform memstore.refuse('memory_not_found', 'id');
  end if;

  v_all := array(select c.member from memstore.chains_of(array[delete_history.id]) c);
  perform 1
  from memstore.memories m
  where m.id = any (v_all)
  order by m.id
  for update;
  v_own := array(select m.id from memstore.memories m where m.id = any (v_all) and (m.user_id = v_user.id) is true);

  -- hold_chain() lets a pointer move only to its target's own replacement: each pass goes one step down the chain,
  -- until no other account's row points at one of these.
  loop
    update memstore.memories p
    set superseded_by_id = t.superseded_by_id, updated_at = clock_timestamp()
    from memstore.memories t
    where p.id = any (v_all)
    and p.id <> all (v_own)
    and t.id = p.superseded_by_id
    and t.id = any (v_own)
    and t.superseded_by_id is not null;
    exit when not found;
  end loop;

  delete from memstore.memories m
  where m.id = any (v_own);
  get diagnostics v_deleted = row_count;
  return v_deleted;
end
$$;
