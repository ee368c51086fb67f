-- A row to begin a correction from: what a target says, without what belongs to its own row.
create or replace function memstore.corrected(target memstore.memories)
returns memstore.memories
language plpgsql
immutable parallel safe
security invoker
as $$
declare
  v_given memstore.memories := target;
begin
  v_given.id := null;
  v_given.embedding := null;
  v_given.embedding_model := null;
  v_given.evidence_refs := null;
  v_given.stance := null;
  v_given.promoted := null;
  v_given.superseded_by_id := null;
  v_given.superseded_at := null;
  v_given.inserted_at := null;
  v_given.updated_at := null;
  v_given.search_vector := null;
  return v_given;
end
$$;

comment on function memstore.corrected(memstore.memories) is 'A row to begin a correction from.';
