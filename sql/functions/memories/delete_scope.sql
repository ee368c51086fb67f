create or replace function memstore.delete_scope(actor uuid, scope text)
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
delete_scope: deletes all memories of one scope.

Example:
  select memstore.delete_scope(memstore.find_user('account-1'), 'project:x');
Result:
  0

For a project, a session or an agent that ended: its memories are gone, live and superseded. Memories without the scope
stay. One that a deleted memory had replaced stays superseded, and points at the first of the following replacements
that is left, or at nothing.

Arguments
  actor  uuid  the account
  scope  text  the scope
Returns
  how many memories were deleted
Errors
  actor_unknown
  argument_invalid  scope is NULL or blank
*/
declare
  v_user memstore.users := memstore.lock_account(delete_scope.actor, 'actor');
  v_scope text := memstore.trim_text(delete_scope.scope);
  v_deleted bigint;
begin
  if coalesce(v_scope, '') = '' then
    perform memstore.refuse_argument('scope', 'the name of a scope');
  end if;

  perform 1
  from memstore.memories m
  where m.id = any (
    array(
      select unnest(array[o.id, o.superseded_by_id])
      from memstore.memories o
      where o.user_id = v_user.id
      and o.scope = v_scope
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
      where o.user_id = v_user.id
      and o.scope = v_scope
    )
  )
  order by m.id
  for update;

  -- hold_chain() lets a pointer move only to its target's own replacement: each pass goes one step down the chain,
  -- until no target is of the scope.
  loop
    update memstore.memories p
    set
      superseded_by_id = (select t.superseded_by_id from memstore.memories t where t.id = p.superseded_by_id),
      updated_at = clock_timestamp()
    -- An array, not a join, which could read all of the table.
    where p.id = any (
      array(
        select f.id
        from memstore.memories t
        cross join lateral (
          select f.id
          from memstore.memories f
          where f.superseded_by_id = t.id
          and f.scope is distinct from v_scope
          and t.superseded_by_id is not null
          offset 0
        ) f
        where t.user_id = v_user.id
        and t.scope = v_scope
      )
    );
    exit when not found;
  end loop;

  delete from memstore.memories m
  where m.user_id = v_user.id
  and m.scope = v_scope;
  get diagnostics v_deleted = row_count;
  return v_deleted;
end
$$;
