-- The scores of rank_memories: of each memory of the account; or, by its words alone, read from the operator's indexes,
-- of those that have any (match_memories). The account's other memories then score 0, and of them the bucket user alone
-- is eligible.
--   embedding, embedding_model: usable ones (embedding_is_usable), or NULL
--   languages, counts: as of match_memories
create or replace function memstore.score_memories(
  actor uuid,
  query text,
  embedding real[],
  embedding_model text,
  languages text[] default null,
  counts bigint[] default null
)
returns table (
  id uuid,
  bucket text,
  inserted_at timestamptz,
  score double precision,
  lexical_score double precision,
  semantic_score double precision,
  eligible boolean
)
language plpgsql
stable
security invoker
as $$
declare
  v_hybrid boolean := embedding is not null;
  -- Once, not for each row: it may be long.
  v_model text := memstore.trim_text(embedding_model);
  v_settings memstore.settings;
begin
  select s.*
  into v_settings
  from memstore.settings s;

  return query
  with lexical as materialized (
    select l.id, l.bucket, l.inserted_at, l.score
    from memstore.match_memories(actor, query, languages, counts) l
  )
  select
    r.id,
    r.bucket,
    r.inserted_at,
    r.score,
    r.lexical_score,
    r.semantic_score,
    r.bucket = 'user'
      or r.lexical_score > v_settings.lexical_floor
      or coalesce(r.semantic_score > v_settings.semantic_floor, false)
  from (
    select
      l.id,
      l.bucket,
      l.inserted_at,
      memstore.fuse(l.score, greatest(s.similarity, 0), v_hybrid) as score,
      round(1e6 * l.score) / 1e6 as lexical_score,
      round(1e6 * case when s.similarity < 0 then 0 else s.similarity end) / 1e6 as semantic_score
    from lexical l
    left join memstore.similarities(
      case when v_hybrid then array(select l.id from lexical l) end, embedding, v_model
    ) s on s.id = l.id
  ) r;
end
$$;

comment on function memstore.score_memories(uuid, text, real[], text, text[], bigint[]) is 'The scores of the account''s memories.';
