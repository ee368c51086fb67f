create or replace function memstore.list_memories(
  actor uuid,
  bucket text default null,
  include_superseded boolean default false,
  page_size integer default 200,
  after uuid default null,
  scopes text[] default null,
  filter jsonb default null,
  after_inserted_at timestamptz default null
)
returns setof memstore.memory
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_custom_plan
-- So that a page of live memories is read from the index that has their order, whatever the statistics say.
set enable_sort = off
set jit = off
set max_parallel_workers_per_gather = 0
as $$
/*
list_memories: lists the account's memories, newest first.

Example:
  select body from memstore.list_memories(memstore.find_user('account-1'));
Result:
  I use pnpm, not npm.

Arguments
  actor               uuid         the account
  bucket              text         only memories of user, learned or system
  include_superseded  boolean      whether to list superseded memories too; false by default
  page_size           integer      how many memories, 1 to 200; 200 by default
  after               uuid         the id of the last memory of the previous page
  scopes              text[]       only memories of these scopes, 100 at most, and those without a scope; of an empty
                                   array only the latter
  filter              jsonb        only memories whose metadata contain this object, or one of an array of 100 at most;
                                   no key beginning with $, since there are no operators
  after_inserted_at   timestamptz  the inserted_at of that last memory, which then may be gone since
Returns
  memories, by inserted_at and id, both descending
Errors
  actor_unknown
  argument_invalid  bucket is not user, learned or system, or page_size is not 1 to 200, or scopes or filter has
                    another form
  memory_not_found  after is no memory of the account, and after_inserted_at is left out
*/
declare
  v_after memstore.memory;
  v_scopes text[] := memstore.read_scopes(list_memories.scopes);
  v_filters jsonb[] := memstore.read_filter(list_memories.filter);
begin
  perform memstore.require_actor(list_memories.actor);
  if list_memories.bucket not in ('user', 'learned', 'system') then
    perform memstore.refuse_argument('bucket', 'user, learned or system');
  end if;
  if coalesce(list_memories.page_size, 200) not between 1 and 200 then
    perform memstore.refuse_argument('page_size', '1 to 200');
  end if;
  if list_memories.after_inserted_at is not null then
    v_after.id := list_memories.after;
    v_after.inserted_at := list_memories.after_inserted_at;
  elsif list_memories.after is not null then
    v_after := memstore.get_memory(list_memories.actor, list_memories.after);
  end if;

  return query
  select (r.memory).*
  from (
    -- A row of its own: to_memory(m).* is planned for each of its fields, with all of its fields.
    select memstore.to_memory(m) as memory
    from memstore.memories m
    where m.user_id = list_memories.actor
    and (m.superseded_at is null or coalesce(list_memories.include_superseded, false))
    and (list_memories.bucket is null or m.bucket = list_memories.bucket)
    and memstore.is_within(m.scope, m.metadata, v_scopes, v_filters)
    and (list_memories.after is null or (m.inserted_at, m.id) < (v_after.inserted_at, v_after.id))
    order by m.inserted_at desc, m.id desc
    limit coalesce(list_memories.page_size, 200)
  ) r;
end
$$;
