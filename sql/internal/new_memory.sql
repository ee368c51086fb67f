-- A row to be written, with its texts trimmed. Where a text is optional, an empty one is an
-- absent one; the language is then the account's.
create or replace function memstore.new_memory(
  actor memstore.users,
  body text,
  bucket text,
  source_ref text,
  embedding real[],
  embedding_model text,
  slug text,
  entity text,
  tier text,
  as_of date,
  admission text,
  evidence_refs jsonb,
  language text,
  id uuid
)
returns memstore.memories
language plpgsql
volatile
security invoker
as $$
declare
  v_memory memstore.memories;
begin
  v_memory.id := coalesce(new_memory.id, gen_random_uuid());
  v_memory.user_id := actor.id;
  v_memory.bucket := memstore.trim_text(new_memory.bucket);
  v_memory.body := memstore.trim_text(new_memory.body);
  v_memory.source_ref := nullif(memstore.trim_text(new_memory.source_ref), '');
  v_memory.language := coalesce(nullif(memstore.trim_text(new_memory.language), ''), actor.language);
  v_memory.embedding := new_memory.embedding;
  v_memory.embedding_model := nullif(memstore.trim_text(new_memory.embedding_model), '');
  v_memory.slug := nullif(memstore.trim_text(new_memory.slug), '');
  v_memory.entity := nullif(memstore.trim_text(new_memory.entity), '');
  v_memory.tier := nullif(memstore.trim_text(new_memory.tier), '');
  v_memory.as_of := new_memory.as_of;
  v_memory.admission := nullif(memstore.trim_text(new_memory.admission), '');
  v_memory.evidence_refs := memstore.trim_evidence(new_memory.evidence_refs);
  v_memory.inserted_at := clock_timestamp();
  v_memory.updated_at := v_memory.inserted_at;
  return v_memory;
end
$$;

comment on function memstore.new_memory(memstore.users, text, text, text, real[], text, text, text, text, date, text, jsonb, text, uuid)
is 'A row to be written, with its texts trimmed.';
