/*
rank_claims: the claims of the system bucket that are about a turn.

Example:
  select memstore.configure(system_recall_enabled => true);
  select (memory).slug, score from memstore.rank_claims(memstore.find_user('account-1'), 'Is pnpm faster?');
Result:
  sys:pnpm|1

The one read that crosses accounts; it gives nothing unless the operator has turned it on (configure). Eligible are
live claims whose derived status is admitted, with a score above the floor; the score is that of rank_memories, its
n and df counted over the admitted live claims. Of them come as many as maximum_system_pool, none of an account
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
    and m.superseded_at is null
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
    join memstore.memories m on m.language = t.language and m.search_vector @@ t.term
    join memstore.claim_statuses s on s.memory_id = m.id and s.status = 'admitted'
    where m.bucket = 'system'
    and m.superseded_at is null
    and not m.promoted
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
  scores as (
    select h.id, round((sum(w.weight) / min(s.weight))::numeric, 6)::double precision as score
    from hits h
    join weights w on w.language = h.language and w.lexeme = h.lexeme
    join (
      select w.language, sum(w.weight) as weight
      from weights w
      group by w.language
    ) s on s.language = h.language
    group by h.id
  ),
  ranked as (
    select
      m.id,
      m.user_id,
      s.score,
      row_number() over (order by s.score desc, m.inserted_at desc, m.id) as position,
      row_number() over (partition by m.user_id order by s.score desc, m.inserted_at desc, m.id) as round,
      least(count(*) over (), v_settings.maximum_system_pool) as slots
    from scores s
    join memstore.memories m on m.id = s.id
    where s.score > v_settings.lexical_floor
  ),
  pool as (
    select r.id, r.score, r.round, min(r.position) over (partition by r.user_id) as best
    from ranked r
    where r.round <= ceil(r.slots / 4.0)
    order by r.round, best
    limit (select max(r.slots) from ranked r)
  )
  select memstore.to_memory(m), p.score, p.score, null::double precision, true
  from pool p
  join memstore.memories m on m.id = p.id
  order by p.round, p.best;
end
$$;

comment on function memstore.rank_claims(uuid, text, real[], text) is 'The claims of the system bucket that are about a turn.';
