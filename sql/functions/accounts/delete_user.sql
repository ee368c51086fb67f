create or replace function memstore.delete_user(actor uuid)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
-- So that the account's index is read in one way, whatever the statistics say.
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
/*
delete_user: erases an account with all of its memories and items.

Example:
  select memstore.delete_user(memstore.find_user('account-1'));
Result:
  1

Deletes all memories of the account, live and superseded, of every bucket, with the records on its claims, all of its
items, and the account. Another account's claim that one of these memories had replaced stays superseded; it then points at that
memory's own replacement, or at nothing. Records that the account wrote on others' claims stay, without their texts, so
that no status changes; the account's row then stays too, as a bare id that can do nothing. A claim that a steward
corrected or promoted has a replacement, which is the steward's: it stays, with the slug, entity, tier and language that
it has from the claim. A role that was bound to the account reaches nothing any more,
and its tokens are gone.

Arguments
  actor  uuid  the account
Returns
  how many memories were deleted
Errors
  actor_unknown
*/
declare
  v_accounts uuid[] := memstore.chain_accounts(
    delete_user.actor,
    array(select m.id from memstore.memories m where m.user_id = delete_user.actor and m.bucket = 'system')
  );
  v_deleted bigint;
begin
  -- Before the accounts, as in bind_role: the trigger that takes back a role's grants with its last account locks it too.
  if exists (select from memstore.account_roles a where a.user_id = delete_user.actor) then
    lock table memstore.api_roles in share row exclusive mode;
  end if;
  -- Accounts in the order of their ids, and the erased one exclusively.
  perform 1
  from memstore.users u
  where u.id = any (v_accounts)
  and u.id < delete_user.actor
  order by u.id
  for no key update;
  perform 1
  from memstore.users u
  where u.id = delete_user.actor
  and u.erased_at is null
  for update;
  if not found then
    perform memstore.refuse('actor_unknown', 'actor');
  end if;

  perform 1
  from memstore.users u
  where u.id = any (v_accounts)
  and u.id > delete_user.actor
  order by u.id
  for no key update;

  perform 1
  from memstore.memories m
  where m.id = any (
    array(
      select unnest(array[o.id, o.superseded_by_id])
      from memstore.memories o
      where o.user_id = delete_user.actor
    )
    || array(
      select p.id
      from memstore.memories o
      -- OFFSET, here and below, makes each row one look-up, also where the statistics say that many rows share a
      -- replacement.
      cross join lateral (
        select p.id
        from memstore.memories p
        where p.superseded_by_id = o.id
        offset 0
      ) p
      where o.user_id = delete_user.actor
    )
  )
  order by m.id
  for update;
  -- A deletion of a claim deletes the account's records on it: the two meet here, at the claim, and don't deadlock.
  perform 1
  from memstore.memories m
  where m.id = any (array(select r.memory_id from memstore.memory_admissions r where r.user_id = delete_user.actor))
  order by m.id
  for key share;

  -- The names of models that go with the account, before the counter is locked: the trigger that deletes them skips what
  -- another transaction has locked. A name that other accounts use is not locked, since all writers of it would block.
  perform 1
  from memstore.embedding_models e
  where e.name = any (
    array(
      select distinct m.embedding_model
      from memstore.memories m
      where m.user_id = delete_user.actor
    )
    || array(
      select distinct e.embedding_model
      from memstore.items i
      cross join lateral (
        select e.embedding_model
        from memstore.item_embeddings e
        where e.item_id = i.id
        offset 0
      ) e
      where i.user_id = delete_user.actor
    )
  )
  and not e.registered
  and not exists (
    select
    from memstore.memories m
    where m.embedding_model = e.name
    and (m.user_id <> delete_user.actor) is true
  )
  and not exists (
    select
    from memstore.item_embeddings m
    join memstore.items i on i.id = m.item_id
    where m.embedding_model = e.name
    and (i.user_id <> delete_user.actor) is true
  )
  order by e.name collate "C"
  for update;

  -- hold_chain() lets a pointer move only to its target's own replacement: each pass goes one step down the chain,
  -- until no target belongs to the account.
  loop
    update memstore.memories p
    set superseded_by_id = c.superseded_by_id, updated_at = clock_timestamp()
    from (
      select f.id, t.superseded_by_id
      from memstore.memories t
      cross join lateral (
        select f.id
        from memstore.memories f
        where f.superseded_by_id = t.id
        and f.user_id <> delete_user.actor
        and t.superseded_by_id is not null
        offset 0
      ) f
      where t.user_id = delete_user.actor
    ) c
    where p.id = c.id;
    exit when not found;
  end loop;

  delete from memstore.memories m
  where m.user_id = delete_user.actor;
  get diagnostics v_deleted = row_count;
  delete from memstore.item_embeddings e
  where e.item_id = any (array(select i.id from memstore.items i where i.user_id = delete_user.actor));
  delete from memstore.items i
  where i.user_id = delete_user.actor;

  -- Not left to the foreign keys: the account's row may stay.
  delete from memstore.account_roles a
  where a.user_id = delete_user.actor;
  delete from memstore.tokens t
  where t.user_id = delete_user.actor;
  update memstore.users u
  set
    external_ref = null,
    language = 'english',
    steward = false,
    maximum_live_memories = 0,
    has_twins = false,
    erased_at = clock_timestamp()
  where u.id = delete_user.actor;
  update memstore.memory_admissions r
  set ground = '[erased]', evidence_refs = memstore.erase_evidence(r.evidence_refs)
  where r.user_id = delete_user.actor;
  if not found then
    delete from memstore.users u
    where u.id = delete_user.actor;
  end if;
  return v_deleted;
end
$$;
