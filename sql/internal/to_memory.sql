-- One expression, so that the planner inlines it and never builds the whole row with its embedding.
create or replace function memstore.to_memory(m memstore.memories)
returns memstore.memory
language sql
immutable parallel safe
security invoker
as $$
  select row(
    m.id, m.user_id, m.bucket, m.body, m.source_ref, m.language, m.embedding_model, m.slug, m.entity, m.tier,
    m.as_of, m.admission, m.evidence_refs, m.stance, m.promoted, m.superseded_by_id, m.superseded_at,
    m.inserted_at, m.updated_at
  )::memstore.memory
$$;

comment on function memstore.to_memory(memstore.memories) is 'A row as the functions return it.';
