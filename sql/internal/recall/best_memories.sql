-- The memories of the account that fit a query best.
-- Returns: ids, the best eligible ones, as many as maximum; how many are eligible; how many have no embedding that
-- compares with the query's, if it has one; and the backend: none, lexical or hybrid.
create or replace function memstore.best_memories(
  actor uuid,
  query text,
  embedding real[],
  embedding_model text,
  maximum integer,
  out ids uuid[],
  out eligible integer,
  out unembedded integer,
  out backend text
)
language plpgsql
stable
security invoker
-- As in score_memories: the newest memories come from memories_live_idx.
set enable_sort = off
set jit = off
as $$
declare
  v_hybrid boolean := memstore.embedding_is_usable(embedding, embedding_model);
  v_indexed boolean;
  v_counts record;
begin
  if coalesce(memstore.trim_text(query), '') = '' then
    ids := '{}';
    eligible := 0;
    unembedded := 0;
    backend := 'none';
    return;
  end if;
  backend := case when v_hybrid then 'hybrid' else 'lexical' end;
  v_counts := memstore.count_candidates(actor);
  v_indexed := not v_hybrid
    and memstore.words_are_indexed(actor)
    and memstore.words_are_rare(actor, query, v_counts.languages, v_counts.counts);

  with scored as materialized (
    select s.*
    from memstore.score_memories(
      actor, query, case when v_hybrid then embedding end, embedding_model, v_counts.languages, v_counts.counts, false
    ) s
    where not v_indexed
    union all
    select s.*
    from memstore.score_indexed_memories(actor, query, v_counts.languages, v_counts.counts) s
    where v_indexed
  ),
  best as materialized (
    select s.id, s.inserted_at, s.score
    from scored s
    where s.eligible
    and (s.score > 0 or s.bucket = 'learned')
    order by s.score desc, s.inserted_at desc, s.id
    limit maximum
  ),
  -- What the account asked to have remembered needs no score: the newest fill the room that is left.
  newest as (
    select m.id, m.inserted_at, 0::double precision as score
    from memstore.memories m
    where m.user_id = actor
    and m.superseded_at is null
    and m.bucket = 'user'
    and m.id not in (select b.id from best b)
    order by m.inserted_at desc, m.id
    limit maximum - (select count(*) from best b where b.score > 0)
  )
  select
    array(
      select r.id
      from (
        select b.id, b.inserted_at, b.score
        from best b
        union all
        select n.id, n.inserted_at, n.score
        from newest n
      ) r
      order by r.score desc, r.inserted_at desc, r.id
      limit maximum
    ),
    (v_counts.of_user + count(*) filter (where s.eligible and s.bucket = 'learned'))::integer,
    case
      when v_hybrid
      then ((select coalesce(sum(c.n), 0) from unnest(v_counts.counts) c (n)) - count(s.semantic_score))::integer
      else 0
    end
  into ids, eligible, unembedded
  from scored s;
end
$$;

comment on function memstore.best_memories(uuid, text, real[], text, integer) is 'The memories of the account that fit a query best.';
