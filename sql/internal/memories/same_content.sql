-- Whether a stored row is what a repeated call would write: every column but those listed here, which change after the
-- insert or differ between two calls. as_of_given: false where the call left the date to its default, which moves on
-- at midnight.
create or replace function memstore.same_content(stored memstore.memories, candidate memstore.memories, as_of_given boolean default true)
returns boolean
language plpgsql
immutable parallel safe
security invoker
as $$
declare
  v_candidate memstore.memories := candidate;
begin
  v_candidate.embedding := stored.embedding;
  v_candidate.embedding_model := stored.embedding_model;
  v_candidate.superseded_by_id := stored.superseded_by_id;
  v_candidate.superseded_at := stored.superseded_at;
  v_candidate.inserted_at := stored.inserted_at;
  v_candidate.updated_at := stored.updated_at;
  -- Generated: a candidate has none.
  v_candidate.promoted := stored.promoted;
  v_candidate.search_vector := stored.search_vector;
  if not as_of_given then
    v_candidate.as_of := stored.as_of;
  end if;
  return v_candidate is not distinct from stored;
end
$$;

comment on function memstore.same_content(memstore.memories, memstore.memories, boolean)
is 'Whether a stored row is what a repeated call would write.';
