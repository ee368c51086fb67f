-- The memories of the account that fit a query best.
--   scopes, filters: of read_scopes() and read_filter(); a memory that is not within them is as one that is not there
-- Returns: ids, the best eligible ones, as many as maximum; how many are eligible; how many have no embedding that
-- compares with the query's, if it has one; and the backend: none, lexical or hybrid.
create or replace function memstore.best_memories(
  actor uuid,
  query text,
  embedding real[],
  embedding_model text,
  maximum integer,
  scopes text[],
  filters jsonb[],
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
  v_counts := memstore.count_candidates(actor, scopes, filters);
  -- Without candidates nobody can say whether words are rare.
  v_indexed := (
    not v_hybrid
    and memstore.words_are_indexed(actor)
    and memstore.words_are_rare(actor, query, v_counts.languages, v_counts.counts)
  ) is true;

  with scored as materialized (
    select s.*
    from memstore.score_memories(
      actor,
      query,
      case when v_hybrid then embedding end,
      embedding_model,
      v_counts.languages,
      v_counts.counts,
      scopes,
      filters,
      v_counts.has_twins,
      false
    ) s
    where not v_indexed
    union all
    select s.*
    from memstore.score_indexed_memories(
      actor, query, v_counts.languages, v_counts.counts, scopes, filters, v_counts.has_twins, false
    ) s
    where v_indexed
  ),
  -- Of one body only the best is eligible. Where no two memories can have one, bodies are NULL, and each stands alone.
  best as materialized (
    select s.id, s.bucket, s.inserted_at, s.score, s.body
    from (
      select
        s.*,
        row_number() over (partition by s.body order by s.score desc, s.inserted_at desc, s.id) as place
      from scored s
      where s.eligible
      and (s.score > 0 or s.bucket = 'learned')
    ) s
    where s.place = 1
    or s.body is null
    order by s.score desc, s.inserted_at desc, s.id
    limit maximum
  ),
  -- What the account asked to have remembered and is too far in meaning.
  distant as (
    select s.id
    from scored s
    where s.bucket = 'user'
    and not s.eligible
  ),
  -- What the account asked to have remembered needs no score: the newest fill the room that is left.
  newest as (
    select
      m.id, m.inserted_at, 0::double precision as score, case when v_counts.has_twins then m.body end as body
    from memstore.memories m
    where m.user_id = actor
    and m.superseded_at is null
    and m.bucket = 'user'
    and memstore.is_within(m.scope, m.metadata, scopes, filters)
    and m.id not in (select b.id from best b)
    and m.id not in (select d.id from distant d)
    and case
      when v_counts.has_twins then
        m.body not in (select b.body from best b where b.score > 0)
        and not exists (
          select
          from memstore.memories o
          where o.user_id = m.user_id
          and hashtextextended(o.body, 0) = hashtextextended(m.body, 0)
          and o.body = m.body
          and o.superseded_at is null
          and o.bucket = 'user'
          and memstore.is_within(o.scope, o.metadata, scopes, filters)
          and o.id not in (select d.id from distant d)
          and (o.inserted_at > m.inserted_at or o.inserted_at = m.inserted_at and o.id < m.id)
        )
      else true
    end
    order by m.inserted_at desc, m.id
    limit maximum - (select count(*) from best b where b.score > 0)
  )
  select
    array(
      select r.id
      from (
        select
          r.*,
          row_number() over (partition by r.body order by r.score desc, r.inserted_at desc, r.id) as place
        from (
          select b.id, b.inserted_at, b.score, b.body
          from best b
          union all
          select n.id, n.inserted_at, n.score, n.body
          from newest n
        ) r
      ) r
      where r.place = 1
      or r.body is null
      order by r.score desc, r.inserted_at desc, r.id
      limit maximum
    ),
    case
      when v_counts.has_twins then (
        select count(*)
        from (
          select m.body
          from memstore.memories m
          where m.user_id = actor
          and m.superseded_at is null
          and m.bucket = 'user'
          and memstore.is_within(m.scope, m.metadata, scopes, filters)
          and m.id not in (select d.id from distant d)
          union
          select l.body
          from scored l
          where l.eligible
          and l.bucket = 'learned'
        ) b
      )
      else v_counts.of_user - (select count(*) from distant)
        + count(*) filter (where s.eligible and s.bucket = 'learned')
    end::integer,
    case
      when v_hybrid
      then ((select coalesce(sum(c.n), 0) from unnest(v_counts.counts) c (n)) - count(s.semantic_score))::integer
      else 0
    end
  into ids, eligible, unembedded
  from scored s;
end
$$;

comment on function memstore.best_memories(uuid, text, real[], text, integer, text[], jsonb[]) is
  'The memories of the account that fit a query best.';
