/*
rank_memories: how well each memory of the account fits a turn.

Example:
  select (memory).body, score, eligible
  from memstore.rank_memories(memstore.find_user('account-1'), 'npm or pnpm?');
Result:
  I use pnpm, not npm.|1|t

The candidates are the account's live memories of the buckets user and learned. The lexical score is the share of
the turn that a memory covers: each word of the turn weighs ln(1 + (n - df + 0.5) / (df + 0.5)), where n counts the
candidates of the memory's language and df those of them that have the word; the score is the weight of the words
that the memory has over the weight of all. Of the turn count its first 512 characters, and the first 64
different words in them. A user memory is always eligible, a learned one with a score above the floor.

Arguments
  actor            uuid    the account
  query            text    the turn
  embedding        real[]  the turn's embedding
  embedding_model  text    its model
Returns
  memory, score, lexical_score, semantic_score (0 to 1, 6 decimals; semantic_score is NULL without embeddings) and
  eligible, best first, then newest, then by id; none for a blank turn
Errors
  actor_unknown
*/
create or replace function memstore.rank_memories(
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
declare
  v_lexical_floor double precision := (select s.lexical_floor from memstore.settings s);
begin
  perform memstore.require_actor(rank_memories.actor);
  if coalesce(memstore.trim_text(rank_memories.query), '') = '' then
    return;
  end if;

  return query
  with candidates as materialized (
    select memstore.to_memory(m) as memory, m.id, m.language, m.bucket, m.inserted_at, m.search_vector
    from memstore.memories m
    where m.user_id = rank_memories.actor
    and m.superseded_at is null
    and m.bucket in ('user', 'learned')
  ),
  languages as (
    select c.language, count(*) as n
    from candidates c
    group by c.language
  ),
  turn as materialized (
    -- A lexeme has neither quotes nor backslashes: the text function makes separators of them.
    select l.language, l.n, t.lexeme, ('''' || t.lexeme || '''')::tsquery as term
    from languages l
    cross join unnest((memstore.lexemes(l.language, left(rank_memories.query, 512)))[:64]) t (lexeme)
  ),
  hits as materialized (
    select c.id, t.language, t.lexeme
    from turn t
    join candidates c on c.language = t.language and c.search_vector @@ t.term
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
  rounded as (
    select
      c.memory,
      c.id,
      c.inserted_at,
      c.bucket,
      round(coalesce(s.score, 0)::numeric, 6)::double precision as score
    from candidates c
    left join scores s on s.id = c.id
  )
  select
    r.memory,
    r.score,
    r.score,
    null::double precision,
    r.bucket = 'user' or r.score > v_lexical_floor
  from rounded r
  order by r.score desc, r.inserted_at desc, r.id;
end
$$;

comment on function memstore.rank_memories(uuid, text, real[], text) is 'How well each memory of the account fits a turn.';
