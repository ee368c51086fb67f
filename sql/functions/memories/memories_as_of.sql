create or replace function memstore.memories_as_of(
  actor uuid,
  moment timestamptz,
  scopes text[] default null,
  filter jsonb default null
)
returns setof memstore.memory
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
-- So that the account's index is read in one way, whatever the statistics say.
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set max_parallel_workers_per_gather = 0
as $$
/*
memories_as_of: lists the memories that were live at a past moment.

Example:
  select body from memstore.memories_as_of(memstore.find_user('account-1'), clock_timestamp());
Result:
  I use pnpm, not npm.

Memories that were deleted since then are missing.

Arguments
  actor   uuid         the account
  moment  timestamptz  the moment
  scopes  text[]       as in list_memories
  filter  jsonb        as in list_memories
Returns
  the memories, newest first
Errors
  actor_unknown
  argument_invalid  moment is NULL, or scopes or filter has another form
*/
declare
  v_scopes text[] := memstore.read_scopes(memories_as_of.scopes);
  v_filters jsonb[] := memstore.read_filter(memories_as_of.filter);
begin
  perform memstore.require_actor(memories_as_of.actor);
  if memories_as_of.moment is null then
    perform memstore.refuse_argument('moment', 'a time');
  end if;

  return query
  select (memstore.to_memory(m)).*
  from memstore.memories m
  where m.user_id = memories_as_of.actor
  and m.inserted_at <= memories_as_of.moment
  and (m.superseded_at is null or m.superseded_at > memories_as_of.moment)
  and memstore.is_within(m.scope, m.metadata, v_scopes, v_filters)
  order by m.inserted_at desc, m.id desc;
end
$$;
