-- The memories of the account that fit a turn best.
-- Returns: ids, the best eligible ones, as many as maximum; how many are eligible; how many have no embedding that
-- compares with the turn's, if it has one; and the backend: none, lexical or hybrid.
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
as $$
declare
  v_hybrid boolean := memstore.embedding_is_usable(embedding, embedding_model);
  v_indexed boolean;
  v_counts record;
  v_scored uuid[];
begin
  if coalesce(memstore.trim_text(query), '') = '' then
    ids := '{}';
    eligible := 0;
    unembedded := 0;
    backend := 'none';
    return;
  end if;
  backend := case when v_hybrid then 'hybrid' else 'lexical' end;

  v_indexed := not v_hybrid and memstore.words_are_indexed(actor);
  if not v_indexed then
    select
      coalesce((array_agg(s.id order by s.score desc, s.inserted_at desc, s.id) filter (where s.eligible))[:maximum], '{}'),
      (count(*) filter (where s.eligible))::integer,
      case when v_hybrid then (count(*) - count(s.semantic_score))::integer else 0 end
    into ids, eligible, unembedded
    from memstore.score_memories(actor, query, case when v_hybrid then embedding end, embedding_model) s;
    return;
  end if;

  v_counts := memstore.count_candidates(actor);
  select
    coalesce((array_agg(s.id order by s.score desc, s.inserted_at desc, s.id) filter (where s.eligible and s.score > 0))[:maximum], '{}'),
    coalesce(array_agg(s.id) filter (where s.score > 0), '{}'),
    (v_counts.of_user + count(*) filter (where s.eligible and s.bucket = 'learned'))::integer,
    0
  into ids, v_scored, eligible, unembedded
  from memstore.score_memories(actor, query, null, null, v_counts.languages, v_counts.counts) s;

  -- What the account asked to have remembered needs no score: the newest fill the room that is left.
  if cardinality(ids) < maximum then
    ids := ids || array(
      select m.id
      from memstore.memories m
      where m.user_id = best_memories.actor
      and m.superseded_at is null
      and m.bucket = 'user'
      and m.id <> all (v_scored)
      order by m.inserted_at desc, m.id
      limit maximum - cardinality(ids)
    );
  end if;
end
$$;

comment on function memstore.best_memories(uuid, text, real[], text, integer) is 'The memories of the account that fit a turn best.';
