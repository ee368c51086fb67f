-- The chains of some memories: of each id the ids of its chain, itself among them. The caller has checked the right to
-- read them.
create or replace function memstore.chains_of(ids uuid[])
returns table (id uuid, member uuid)
language sql
stable
security invoker
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
  with recursive replacements as (
    select m.id as of_id, m.id, m.superseded_by_id
    from memstore.memories m
    where m.id = any (chains_of.ids)
    union
    select r.of_id, m.id, m.superseded_by_id
    from replacements r
    -- OFFSET, here and below, makes each row one look-up, also where the statistics say that many rows share a
    -- replacement.
    cross join lateral (
      select m.id, m.superseded_by_id
      from memstore.memories m
      where m.id = r.superseded_by_id
      offset 0
    ) m
  ),
  chain as (
    select r.of_id, r.id
    from replacements r
    union
    select c.of_id, m.id
    from chain c
    cross join lateral (
      select m.id
      from memstore.memories m
      where m.superseded_by_id = c.id
      offset 0
    ) m
  )
  select c.of_id, c.id
  from chain c
$$;

comment on function memstore.chains_of(uuid[]) is 'The ids of the chains of some memories.';
