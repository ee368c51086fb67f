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
different words in them. A word that only the memory before (after) in the same source_ref has counts by
previous_share (next_share). The semantic score is the cosine similarity of the embeddings, where both are of one
model; a negative one counts 0. With an embedding of the turn the score is 0.6 of the lexical and 0.4 of the semantic
one, else it is the lexical one. A user memory is always eligible, a learned one with either above its floor.

Arguments
  actor            uuid    the account
  query            text    the turn
  embedding        real[]  the turn's embedding; one that no memory could have is as none
  embedding_model  text    its model
Returns
  memory, score, lexical_score, semantic_score (0 to 1, 6 decimals; semantic_score is NULL where the embeddings don't compare) and
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
  v_settings memstore.settings;
  v_hybrid boolean := memstore.embedding_is_usable(embedding, embedding_model);
begin
  select s.*
  into v_settings
  from memstore.settings s;
  perform memstore.require_actor(rank_memories.actor);
  if coalesce(memstore.trim_text(rank_memories.query), '') = '' then
    return;
  end if;

  return query
  with candidates as materialized (
    select
      memstore.to_memory(m) as memory,
      m.id,
      m.language,
      m.bucket,
      m.inserted_at,
      m.search_vector,
      case when m.source_ref is not null then lag(m.id) over source end as previous_id,
      case when m.source_ref is not null then lead(m.id) over source end as next_id
    from memstore.memories m
    where m.user_id = rank_memories.actor
    and m.superseded_at is null
    and m.bucket in ('user', 'learned')
    window source as (partition by m.source_ref, m.language order by m.inserted_at, m.id)
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
    select c.id, c.previous_id, c.next_id, t.language, t.lexeme
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
  -- A word of a row counts for the rows next to it in the same source too, by less.
  covered as (
    select n.id, h.language, h.lexeme, max(n.share) as share
    from hits h
    cross join lateral (
      values
        (h.id, 1::double precision),
        (h.next_id, v_settings.previous_share),
        (h.previous_id, v_settings.next_share)
    ) n (id, share)
    where n.id is not null
    group by n.id, h.language, h.lexeme
  ),
  lexical as (
    select c.id, sum(w.weight * c.share) / min(s.weight) as score
    from covered c
    join weights w on w.language = c.language and w.lexeme = c.lexeme
    join (
      select w.language, sum(w.weight) as weight
      from weights w
      group by w.language
    ) s on s.language = c.language
    group by c.id
  ),
  scores as (
    select
      c.memory,
      c.id,
      c.inserted_at,
      c.bucket,
      coalesce(l.score, 0) as lexical_score,
      case when s.similarity < 0 then 0 else s.similarity end as semantic_score
    from candidates c
    left join lexical l on l.id = c.id
    left join memstore.similarities(
      case when v_hybrid then array(select c.id from candidates c) end, embedding, embedding_model
    ) s on s.id = c.id
  ),
  rounded as (
    select
      s.memory,
      s.id,
      s.inserted_at,
      s.bucket,
      memstore.fuse(s.lexical_score, s.semantic_score, v_hybrid) as score,
      round(s.lexical_score::numeric, 6)::double precision as lexical_score,
      round(s.semantic_score::numeric, 6)::double precision as semantic_score
    from scores s
  )
  select
    r.memory,
    r.score,
    r.lexical_score,
    r.semantic_score,
    r.bucket = 'user'
      or r.lexical_score > v_settings.lexical_floor
      or coalesce(r.semantic_score > v_settings.semantic_floor, false)
  from rounded r
  order by r.score desc, r.inserted_at desc, r.id;
end
$$;

comment on function memstore.rank_memories(uuid, text, real[], text) is 'How well each memory of the account fits a turn.';
