create or replace function memstore.search_memories(
  actor uuid,
  query text,
  bucket text default null,
  include_superseded boolean default false,
  page_size integer default 50,
  after uuid default null,
  scopes text[] default null,
  filter jsonb default null
)
returns setof memstore.memory
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_custom_plan
-- So that live rows are read from the index that has their order, whatever the statistics say.
set enable_sort = off
set jit = off
as $$
/*
search_memories: lists the account's memories that have every word of a query, newest first.

Example:
  select memstore.supersede_memory(
    memstore.find_user('account-1'),
    '00000000-0000-4000-8000-000000000001',
    'I use bun.'
  );
  select body
  from memstore.search_memories(memstore.find_user('account-1'), 'pnpm', include_superseded => true);
Result:
  I use pnpm, not npm.

For people who look for what they know is there, or was. What a turn needs, recall and rank_memories find. Words are
compared as lexemes, as recall compares them; of the query the first 512 characters count.

Arguments
  actor               uuid     the account
  query               text     words; without one, nothing is found
  bucket              text     only memories of user, learned or system
  include_superseded  boolean  whether to search superseded memories too; false by default
  page_size           integer  how many memories, 1 to 200; 50 by default
  after               uuid     the id of the last memory of the previous page
  scopes              text[]   as in list_memories
  filter              jsonb    likewise
Returns
  memories, by inserted_at and id, both descending
Errors
  actor_unknown
  argument_invalid  bucket is not user, learned or system, or page_size is not 1 to 200, or scopes or filter has
                    another form
  memory_not_found  after is no memory of the account
*/
declare
  v_after memstore.memory;
  v_scopes text[] := memstore.read_scopes(search_memories.scopes);
  v_filters jsonb[] := memstore.read_filter(search_memories.filter);
begin
  perform memstore.require_actor(search_memories.actor);
  if search_memories.bucket not in ('user', 'learned', 'system') then
    perform memstore.refuse_argument('bucket', 'user, learned or system');
  end if;
  if coalesce(search_memories.page_size, 50) not between 1 and 200 then
    perform memstore.refuse_argument('page_size', '1 to 200');
  end if;
  if search_memories.after is not null then
    v_after := memstore.get_memory(search_memories.actor, search_memories.after);
  end if;

  return query
  with queries as materialized (
    select l.language, memstore.every_lexeme(memstore.query_lexemes(l.language, search_memories.query)) as lexemes
    from (
      select distinct m.language
      from memstore.memories m
      where m.user_id = search_memories.actor
      and (m.superseded_at is null or coalesce(search_memories.include_superseded, false))
    ) l
  )
  select (r.memory).*
  from (
    select memstore.to_memory(m) as memory
    from memstore.memories m
    join queries q on q.language = m.language
    where m.user_id = search_memories.actor
    and m.search_vector @@ q.lexemes
    and (m.superseded_at is null or coalesce(search_memories.include_superseded, false))
    and (search_memories.bucket is null or m.bucket = search_memories.bucket)
    and memstore.is_within(m.scope, m.metadata, v_scopes, v_filters)
    and (search_memories.after is null or (m.inserted_at, m.id) < (v_after.inserted_at, v_after.id))
    order by m.inserted_at desc, m.id desc
    limit coalesce(search_memories.page_size, 50)
  ) r;
end
$$;
