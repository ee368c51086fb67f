/*
rank_claims: the claims of the system bucket that are about a turn.

Example:
  select memstore.configure(system_recall_enabled => true);
  select (memory).slug, score from memstore.rank_claims(memstore.find_user('account-1'), 'Is pnpm faster?');
Result:
  sys:pnpm|1

The one read that crosses accounts; it gives nothing unless the operator has turned it on (configure). Eligible are
live claims whose derived status is admitted, with a lexical or a semantic score above its floor; the scores are those
of rank_memories (without neighbours), n and df counted over the admitted live claims. Of them come as many as maximum_system_pool, none of an account
beyond a quarter of that, rounded up: accounts take turns in the order of their best claim.

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
set jit = off
as $$
declare
  v_settings memstore.settings;
  v_hybrid boolean := memstore.embedding_is_usable(embedding, embedding_model);
begin
  perform memstore.require_actor(rank_claims.actor);
  select s.*
  into v_settings
  from memstore.settings s;
  if not v_settings.system_recall_enabled or coalesce(memstore.trim_text(rank_claims.query), '') = '' then
    return;
  end if;

  return query
  with languages as materialized (
    select m.language, count(*) as n
    from memstore.claim_statuses s
    join memstore.memories m on m.id = s.memory_id
    where s.status = 'admitted'
    and m.bucket = 'system'
    and m.superseded_at is null
    and not m.promoted
    group by m.language
  ),
  turn as materialized (
    select l.language, l.n, t.lexeme, ('''' || t.lexeme || '''')::tsquery as term
    from languages l
    cross join unnest((memstore.lexemes(l.language, left(rank_claims.query, 512)))[:64]) t (lexeme)
  ),
  hits as materialized (
    select m.id, t.language, t.lexeme
    from turn t
    -- OFFSET keeps the words with the index on them; as a join they become a scan of all claims.
    cross join lateral (
      select c.id
      from memstore.memories c
      where c.search_vector @@ t.term
      and c.language = t.language
      and c.bucket = 'system'
      and c.superseded_at is null
      and not c.promoted
      offset 0
    ) m
    join memstore.claim_statuses s on s.memory_id = m.id and s.status = 'admitted'
  ),
  weights as materialized (
    select
      t.language,
      t.lexeme,
      ln(1 + (t.n - count(h.id) + 0.5::double precision) / (count(h.id) + 0.5::double precision)) as weight
    from turn t
    left join hits h on h.language = t.language and h.lexeme = t.lexeme
    group by t.language, t.lexeme, t.n
  ),
  lexical as (
    select h.id, sum(w.weight) / min(s.weight) as score
    from hits h
    join weights w on w.language = h.language and w.lexeme = h.lexeme
    join (
      select w.language, sum(w.weight) as weight
      from weights w
      group by w.language
    ) s on s.language = h.language
    group by h.id
  ),
  semantic as materialized (
    select s.id, case when s.similarity < 0 then 0 else s.similarity end as score
    from memstore.similarities(
      case
        when v_hybrid then array(
          select m.id
          from memstore.claim_statuses s
          join memstore.memories m on m.id = s.memory_id
          where s.status = 'admitted'
          and m.superseded_at is null
          and m.embedding_model = memstore.trim_text(rank_claims.embedding_model)
        )
      end,
      embedding,
      embedding_model
    ) s
  ),
  scores as (
    select
      coalesce(l.id, s.id) as id,
      memstore.fuse(coalesce(l.score, 0), s.score, v_hybrid) as score,
      round(coalesce(l.score, 0)::numeric, 6)::double precision as lexical_score,
      round(s.score::numeric, 6)::double precision as semantic_score
    from lexical l
    full join semantic s on s.id = l.id
  ),
  ranked as (
    select
      m.id,
      m.user_id,
      s.score,
      s.lexical_score,
      s.semantic_score,
      row_number() over (order by s.score desc, m.inserted_at desc, m.id) as position,
      row_number() over (partition by m.user_id order by s.score desc, m.inserted_at desc, m.id) as round,
      least(count(*) over (), v_settings.maximum_system_pool) as slots
    from scores s
    join memstore.memories m on m.id = s.id
    where (s.lexical_score > v_settings.lexical_floor or s.semantic_score > v_settings.semantic_floor)
    -- True of all of them; said so that the partial index serves.
    and m.bucket = 'system'
    and m.superseded_at is null
    and not m.promoted
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
