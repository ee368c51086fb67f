create or replace function memstore.memory_histories(actor uuid, ids uuid[])
returns table (id uuid, memory memstore.memory)
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
memory_histories: lists the whole chains of many memories, each oldest first.

Example:
  select (memory).body
  from memstore.memory_histories(
    memstore.find_user('account-1'),
    array['00000000-0000-4000-8000-000000000001']::uuid[]
  );
Result:
  I use pnpm, not npm.

As memory_history, in one call for a page of memories. It has the account's own memories: of a claim that another
account corrected, that correction is not among them.

Arguments
  actor  uuid    the account
  ids    uuid[]  its memories, 200 at most; what is none of them has no rows
Returns
  of each id the memories of its chain, oldest first
Errors
  actor_unknown
  argument_invalid  there are more than 200 ids
*/
begin
  perform memstore.require_actor(memory_histories.actor);
  if cardinality(memory_histories.ids) > 200 then
    perform memstore.refuse_argument('ids', '200 ids at most');
  end if;
  return query
  select c.id, r.memory
  from memstore.chains_of(
    array(
      select o.id
      from (select distinct g.id from unnest(memory_histories.ids) g (id)) g
      cross join lateral (
        select m.id, m.user_id
        from memstore.memories m
        where m.id = g.id
        offset 0
      ) o
      where o.user_id = memory_histories.actor
    )
  ) c
  cross join lateral (
    select m.user_id, memstore.to_memory(m) as memory
    from memstore.memories m
    where m.id = c.member
    offset 0
  ) r
  where r.user_id = memory_histories.actor
  order by c.id, (r.memory).inserted_at, (r.memory).id;
end
$$;
