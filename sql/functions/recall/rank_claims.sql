create or replace function memstore.rank_claims(
  actor uuid,
  query text,
  embedding real[] default null,
  embedding_model text default null
)
returns table (
  memory memstore.memory,
  score double precision,
  lexical_score double precision,
  semantic_score double precision,
  eligible boolean
)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
/*
rank_claims: the claims of the system bucket that are about a turn.

Example:
  select memstore.configure(system_recall_enabled => true);
  select (memory).slug, score from memstore.rank_claims(memstore.find_user('account-1'), 'Is pnpm faster?');
Result:
  sys:pnpm|1

The one read that crosses accounts; it gives nothing unless the operator has turned it on (configure). Eligible are
live claims whose derived status is admitted, with a lexical or a semantic score above its floor; the scores are those
of rank_memories (fused, without neighbours, label and source), n and df counted over the admitted live claims. Of them
come as many as maximum_system_pool, none of an account beyond a quarter of that, rounded up: accounts take turns in the order of their
best claim.

By its words a turn considers at most 20 times as many claims as the pool has places, however many there are: those of
its rarest words. Words are taken from the rarest on, each with all the claims that have it, while these together
still have room; of the first word whose claims have not, the newest that have. Every word of the turn counts in the
score of each. By its meaning it considers 320 besides: those of whose embeddings the fewest numbers have another sign
than the turn's; of equals the newest, then by id. What it considers, by words too, it compares in full, so scores are
exact. The places and shares of the pool are counted over the claims considered.

Arguments
  actor            uuid    any account
  query            text    the turn, as in rank_memories
  embedding        real[]  the turn's embedding
  embedding_model  text    its model
Returns
  as rank_memories, in the order of the turns taken; all of them eligible
Errors
  actor_unknown
*/
declare
  v_settings memstore.settings;
  v_hybrid boolean := memstore.embedding_is_usable(embedding, embedding_model);
  -- Once, not for each row: it may be long.
  v_model text := memstore.trim_text(rank_claims.embedding_model);
  -- How many claims a turn considers by its meaning.
  c_nearest constant integer := 320;
begin
  perform memstore.require_actor(rank_claims.actor);
  select s.*
  into v_settings
  from memstore.settings s;
  if not v_settings.system_recall_enabled or coalesce(memstore.trim_text(rank_claims.query), '') = '' then
    return;
  end if;

  return query
  with turns as materialized (
    select l.language, l.claims as n, memstore.query_lexemes(l.language, rank_claims.query) as lexemes
    from memstore.claim_languages l
  ),
  words as materialized (
    select
      t.language,
      ('''' || l.lexeme || '''')::tsquery as term,
      t.n,
      coalesce(w.claims, 0) as df,
      memstore.word_weight(t.n, coalesce(w.claims, 0)) as weight,
      20::bigint * v_settings.maximum_system_pool
        - sum(coalesce(w.claims, 0)) over (order by w.claims, t.language collate "C", l.lexeme collate "C" rows unbounded preceding)
        + coalesce(w.claims, 0) as room
    from turns t
    cross join unnest(t.lexemes) l (lexeme)
    left join memstore.claim_words w on w.language = t.language and w.lexeme = l.lexeme
  ),
  considered as materialized (
    select distinct on (c.memory_id) c.memory_id, c.user_id, c.language, c.inserted_at, c.search_vector
    from (
      select m.memory_id, m.user_id, m.language, m.inserted_at, m.search_vector
      from words w
      -- OFFSET keeps the words with the index on them; as a join they become a scan of all claims. IS TRUE keeps the
      -- other index out of it, which has all claims of the language.
      cross join lateral (
        select a.memory_id, a.user_id, a.language, a.inserted_at, a.search_vector
        from memstore.admitted_claims a
        where a.search_vector @@ w.term
        and (a.language = w.language) is true
        offset 0
      ) m
      where w.df between 1 and w.room
      union all
      -- Few of a language's claims have the word: the newest of those.
      select m.memory_id, m.user_id, m.language, m.inserted_at, m.search_vector
      from words w
      cross join lateral (
        select i.memory_id, i.user_id, i.language, i.inserted_at, i.search_vector
        from (
          select a.memory_id, a.user_id, a.language, a.inserted_at, a.search_vector
          from memstore.admitted_claims a
          where a.search_vector @@ w.term
          and (a.language = w.language) is true
          offset 0
        ) i
        order by i.inserted_at desc, i.memory_id
        limit w.room
      ) m
      where w.room > 0
      and w.df > w.room
      and w.df::double precision * w.df < w.room::double precision * w.n
      union all
      -- Many have it: walking down from the newest finds them sooner. It ends before the next language. CASE hides from
      -- the plan what is rare: without statistics, it would take claims that have the word for few, and sort them all.
      select m.memory_id, m.user_id, m.language, m.inserted_at, m.search_vector
      from words w
      cross join lateral (
        select a.memory_id, a.user_id, a.language, a.inserted_at, a.search_vector
        from memstore.admitted_claims a
        where a.language >= w.language
        and case when a.language = w.language then a.search_vector @@ w.term end
        order by a.language, a.inserted_at desc, a.memory_id
        limit w.room
      ) m
      where w.room > 0
      and w.df > w.room
      and w.df::double precision * w.df >= w.room::double precision * w.n
    ) c
    order by c.memory_id
  ),
  lexical as (
    select c.memory_id, c.user_id, c.inserted_at, sum(w.weight) / min(t.weight) as score
    from considered c
    join words w on w.language = c.language and c.search_vector @@ w.term
    join (
      select w.language, sum(w.weight) as weight
      from words w
      group by w.language
    ) t on t.language = c.language
    group by c.memory_id, c.user_id, c.inserted_at
  ),
  nearest as materialized (
    select n.memory_id, n.user_id, n.inserted_at
    from memstore.nearest_claims(embedding, v_model, c_nearest) n
    where v_hybrid
  ),
  candidates as materialized (
    select
      coalesce(l.memory_id, n.memory_id) as id,
      coalesce(l.user_id, n.user_id) as user_id,
      coalesce(l.inserted_at, n.inserted_at) as inserted_at,
      coalesce(l.score, 0) as lexical_score
    from lexical l
    full join nearest n on n.memory_id = l.memory_id
  ),
  semantic as materialized (
    select s.id, case when s.similarity < 0 then 0 else s.similarity end as score
    from memstore.similarities(case when v_hybrid then array(select c.id from candidates c) end, embedding, v_model) s
  ),
  scores as (
    select
      c.id,
      c.user_id,
      c.inserted_at,
      memstore.fuse(c.lexical_score, s.score, v_hybrid) as score,
      round(1e6 * c.lexical_score) / 1e6 as lexical_score,
      round(1e6 * s.score) / 1e6 as semantic_score
    from candidates c
    -- All of these are candidates. FULL rules out a loop in a loop, whatever the plan takes their number to be.
    full join semantic s on s.id = c.id
  ),
  ranked as (
    select
      s.id,
      s.user_id,
      s.score,
      s.lexical_score,
      s.semantic_score,
      row_number() over (order by s.score desc, s.inserted_at desc, s.id) as position,
      row_number() over (partition by s.user_id order by s.score desc, s.inserted_at desc, s.id) as round,
      least(count(*) over (), v_settings.maximum_system_pool) as slots
    from scores s
    where s.lexical_score > v_settings.lexical_floor
    or s.semantic_score > v_settings.semantic_floor
  ),
  pool as (
    select r.id, r.score, r.lexical_score, r.semantic_score, r.round, min(r.position) over (partition by r.user_id) as best
    from ranked r
    where r.round <= ceil(r.slots / 4.0)
    order by r.round, best
    limit (select max(r.slots) from ranked r)
  )
  select memstore.to_memory(m), p.score, p.lexical_score, p.semantic_score, true
  from pool p
  join memstore.memories m on m.id = p.id
  order by p.round, p.best;
end
$$;

comment on function memstore.rank_claims(uuid, text, real[], text) is 'The claims of the system bucket that are about a turn.';
