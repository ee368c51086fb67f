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
  v_ids uuid[];
  v_positive bigint;
  v_distant uuid[];
  v_learned bigint;
  v_compared bigint;
  v_digests bigint[];
  v_repeated uuid[];
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
    and memstore.words_are_rare(actor, query, v_counts.languages, v_counts.counts)
  ) is true;

  -- Statements of their own for what few recalls need: each part of a plan is paid for, also where it isn't run.
  if not v_counts.has_twins then
    select
      coalesce(
        array_agg(s.id order by s.score desc, s.inserted_at desc, s.id)
          filter (where s.eligible and (s.score > 0 or s.bucket = 'learned')),
        '{}'
      ),
      count(*) filter (where s.eligible and s.score > 0),
      -- What the account asked to have remembered and is too far in meaning.
      coalesce(array_agg(s.id) filter (where s.bucket = 'user' and not s.eligible), '{}'),
      count(*) filter (where s.eligible and s.bucket = 'learned'),
      count(s.semantic_score)
    into v_ids, v_positive, v_distant, v_learned, v_compared
    from (
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
        false,
        false
      ) s
      where not v_indexed
      union all
      select s.*
      from memstore.score_indexed_memories(
        actor, query, v_counts.languages, v_counts.counts, scopes, filters, false, false
      ) s
      where v_indexed
    ) s;
    eligible := (v_counts.of_user - cardinality(v_distant) + v_learned)::integer;
    ids := v_ids[:maximum];

    -- What the account asked to have remembered needs no score: the newest fill the room that is left.
    if v_positive < maximum then
      ids := v_ids[:v_positive] || array(
        select r.id
        from (
          (
            select m.id, m.inserted_at
            from memstore.memories m
            where m.user_id = actor
            and m.superseded_at is null
            and m.bucket = 'user'
            and memstore.is_within(m.scope, m.metadata, scopes, filters)
            -- A subquery, which is hashed; an array would be read for each row.
            and m.id not in (select unnest(v_ids || v_distant))
            order by m.inserted_at desc, m.id
            limit maximum - v_positive
          )
          union all
          select m.id, m.inserted_at
          from memstore.memories m
          where m.id = any (v_ids[v_positive + 1:])
        ) r
        order by r.inserted_at desc, r.id
        limit maximum - v_positive
      );
    end if;
  else
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
        true,
        false
      ) s
      where not v_indexed
      union all
      select s.*
      from memstore.score_indexed_memories(
        actor, query, v_counts.languages, v_counts.counts, scopes, filters, true, false
      ) s
      where v_indexed
    )
    select
      coalesce(array_agg(r.id), '{}'),
      array_agg(r.digest),
      (select count(s.semantic_score) from scored s)
    into v_ids, v_digests, v_compared
    from (
      select r.*
      from (
        select s.id, s.score, s.inserted_at, s.digest
        from scored s
        where s.eligible
        union all
        select m.id, 0, m.inserted_at, hashtextextended(m.body, 0)
        from memstore.memories m
        where m.user_id = actor
        and m.superseded_at is null
        and m.bucket = 'user'
        and memstore.is_within(m.scope, m.metadata, scopes, filters)
        and m.id not in (select s.id from scored s)
      ) r
      -- Once, and not for each of the aggregates. None of them may ask for another order.
      order by r.score desc, r.inserted_at desc, r.id
      offset 0
    ) r;

    -- Of one body only the best is eligible. Bodies are compared, since digests can be made to collide.
    eligible := (select count(distinct d.digest)::integer from unnest(v_digests) d (digest));
    if eligible < cardinality(v_ids) then
      v_repeated := array(
        select b.id
        from (
          select u.id, row_number() over (partition by m.body order by u.position) as place
          from (
            select u.*, count(*) over (partition by u.digest) as memories
            from unnest(v_ids, v_digests) with ordinality u (id, digest, position)
          ) u
          -- OFFSET makes each row one look-up by its key.
          cross join lateral (
            select m.body
            from memstore.memories m
            where m.id = u.id
            offset 0
          ) m
          where u.memories > 1
        ) b
        where b.place > 1
      );
      eligible := cardinality(v_ids) - cardinality(v_repeated);
      v_ids := array(
        select u.id
        from unnest(v_ids) with ordinality u (id, position)
        where u.id not in (select unnest(v_repeated))
        order by u.position
        limit maximum
      );
    end if;
    ids := v_ids[:maximum];
  end if;

  unembedded := case
    when v_hybrid then (select coalesce(sum(c.n), 0) - v_compared from unnest(v_counts.counts) c (n))::integer
    else 0
  end;
end
$$;

comment on function memstore.best_memories(uuid, text, real[], text, integer, text[], jsonb[]) is
  'The memories of the account that fit a query best.';
