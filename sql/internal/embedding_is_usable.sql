-- Whether a turn's embedding is one that a memory could have. A turn is not refused for its embedding: it is
-- then compared by words alone.
create or replace function memstore.embedding_is_usable(embedding real[], embedding_model text)
returns boolean
language plpgsql
immutable parallel safe
security invoker
as $$
declare
  v_candidate memstore.memories;
begin
  if embedding is null or embedding_model is null then
    return false;
  end if;
  v_candidate.embedding := embedding;
  v_candidate.embedding_model := memstore.trim_text(embedding_model);
  return not jsonb_path_exists(
    memstore.memories_broken(v_candidate),
    '$[*] ? (@.field == "embedding" || @.field == "embedding_model")'
  );
end
$$;

comment on function memstore.embedding_is_usable(real[], text) is 'Whether a turn''s embedding is one that a memory could have.';
