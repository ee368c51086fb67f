-- The row that a call asks for, as it would be stored: the account's, with an id and times, texts trimmed. An optional
-- text that is empty is an absent one; the language is then the account's.
create or replace function memstore.new_memory(actor memstore.users, given memstore.memories)
returns memstore.memories
language plpgsql
volatile
security invoker
as $$
declare
  v_memory memstore.memories := given;
begin
  v_memory.id := coalesce(given.id, gen_random_uuid());
  v_memory.user_id := actor.id;
  v_memory.bucket := memstore.trim_text(coalesce(given.bucket, 'user'));
  v_memory.body := memstore.trim_text(given.body);
  v_memory.source_ref := nullif(memstore.trim_text(given.source_ref), '');
  v_memory.language := coalesce(nullif(memstore.trim_text(given.language), ''), actor.language);
  v_memory.embedding_model := nullif(memstore.trim_text(given.embedding_model), '');
  v_memory.slug := nullif(memstore.trim_text(given.slug), '');
  v_memory.entity := nullif(memstore.trim_text(given.entity), '');
  v_memory.tier := nullif(memstore.trim_text(given.tier), '');
  v_memory.admission := nullif(memstore.trim_text(given.admission), '');
  v_memory.evidence_refs := memstore.trim_evidence(given.evidence_refs);
  v_memory.inserted_at := coalesce(given.inserted_at, clock_timestamp());
  v_memory.updated_at := coalesce(given.updated_at, v_memory.inserted_at);
  return v_memory;
end
$$;

comment on function memstore.new_memory(memstore.users, memstore.memories) is 'The row that a call asks for, as it would be stored.';
