create or replace function memstore.export_memories(actor uuid, page_size integer default 1000, after uuid default null)
returns setof jsonb
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
-- So that the account's index is read in one way, whatever the statistics say.
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_custom_plan
-- The text must not depend on the session's settings, and must have all digits of a real.
set timezone = 'UTC'
set extra_float_digits = 1
set jit = off
set max_parallel_workers_per_gather = 0
as $$
/*
export_memories: exports all memories of an account, as import_memories takes them.

Example:
  select e ->> 'bucket', e ->> 'body' from memstore.export_memories(memstore.find_user('account-1')) e;
Result:
  user|I use pnpm, not npm.

Every memory of the account, of every bucket, with its embedding and times, superseded ones and tombstones too. Each
follows the one that replaced it, so that the beginning of an export can be imported without the rest. Pages that are
read in one REPEATABLE READ transaction are of one moment. An import into another database gives the same rows, and
their export the same text, but for an embedding's negative zero, which becomes zero.

Where another account's claim replaced one of this account, the export has the time of the replacement and no pointer,
as if that claim had been deleted. Records on claims are not exported, since other accounts wrote them (list_records
shows them): an imported claim is a candidate.

Arguments
  actor      uuid     the account
  page_size  integer  how many memories, 1 to 10,000; 1,000 by default
  after      uuid     the id of the last memory of the previous page
Returns
  objects with the keys of import_memories, without those that are NULL: live memories, newest first; then superseded
  ones, the last superseded first
Errors
  actor_unknown
  argument_invalid  page_size is not 1 to 10,000
  memory_not_found  after is no memory of the account
*/
declare
  v_after memstore.memory;
  -- What import_memories does not take: the account is its argument, and the database generates the others.
  v_left_out text[] := array(select c.name from memstore.memory_columns c where c.generated) || '{user_id}'::text[];
begin
  perform memstore.require_actor(export_memories.actor);
  if coalesce(export_memories.page_size, 1000) not between 1 and 10000 then
    perform memstore.refuse_argument('page_size', '1 to 10000');
  end if;
  if export_memories.after is not null then
    v_after := memstore.get_memory(export_memories.actor, export_memories.after);
  end if;

  return query
  select jsonb_strip_nulls(
    to_jsonb(p) - v_left_out
    || jsonb_build_object(
      'superseded_by_id', (
        select r.id
        from memstore.memories r
        where r.id = p.superseded_by_id
        -- IS TRUE leaves the look-up to the key: the account's index would read all of its rows.
        and (r.user_id = p.user_id) is true
      )
    )
  )
  from (
    select m.*
    from memstore.memories m
    where m.user_id = export_memories.actor
    and (
      export_memories.after is null
      or (coalesce(m.superseded_at, 'infinity'), m.inserted_at, m.id)
        < (coalesce(v_after.superseded_at, 'infinity'), v_after.inserted_at, v_after.id)
    )
    -- Along a chain superseded_at increases: a memory follows the one that replaced it.
    order by coalesce(m.superseded_at, 'infinity') desc, m.inserted_at desc, m.id desc
    limit coalesce(export_memories.page_size, 1000)
  ) p
  order by coalesce(p.superseded_at, 'infinity') desc, p.inserted_at desc, p.id desc;
end
$$;
