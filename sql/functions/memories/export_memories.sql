create or replace function memstore.export_memories(actor uuid, page_size integer default 1000, after uuid default null)
returns setof jsonb
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
-- One text for one memory, whatever the session says; a real has all its digits.
set timezone = 'UTC'
set extra_float_digits = 1
set jit = off
as $$
/*
export_memories: all that an account owns, as import_memories takes it.

Example:
  select e ->> 'bucket', e ->> 'body' from memstore.export_memories(memstore.find_user('account-1')) e;
Result:
  user|I use pnpm, not npm.

Every memory of the account, in every bucket, with embedding, times and history: what was replaced, and tombstones, too.
Each comes behind what replaced it, so that any first part of an export can be imported. Read all pages in one REPEATABLE
READ transaction, and they are of one moment. import_memories gives the same rows in another database, and an export of
those is the same text. (One difference could be made out: an embedding's negative zero comes back as zero.)

Where another account's claim replaced one of this account, the export has the time of it and no pointer, as if that
claim had been deleted: it is not the account's to take along. Records on claims stay in this store. A verdict is by its
stewards, and a challenge is a part of its argument; list_records shows them. So an imported claim is a candidate.

Arguments
  actor      uuid     the account
  page_size  integer  1 to 10,000 memories; 1,000
  after      uuid     the id of the last memory of the page before
Returns
  objects with the keys of import_memories, those that are NULL left out; live memories first, then what was replaced
  last; newest first among these
Errors
  actor_unknown
  argument_invalid  page_size
  memory_not_found  after
*/
declare
  v_after memstore.memory;
  -- What import_memories does not take: the account is its argument, and the database generates the others.
  v_left_out text[] := array(select c.name from memstore.memory_columns c where c.generated) || '{user_id}'::text[];
begin
  perform memstore.require_actor(export_memories.actor);
  if coalesce(export_memories.page_size, 1000) not between 1 and 10000 then
    perform memstore.refuse('argument_invalid', 'page_size');
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
        and r.user_id = p.user_id
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
    -- Along a chain superseded_at rises.
    order by coalesce(m.superseded_at, 'infinity') desc, m.inserted_at desc, m.id desc
    limit coalesce(export_memories.page_size, 1000)
  ) p
  order by coalesce(p.superseded_at, 'infinity') desc, p.inserted_at desc, p.id desc;
end
$$;

comment on function memstore.export_memories(uuid, integer, uuid) is 'All that an account owns, as import_memories takes it, a page at a time.';
