-- Returns the row that a call asks for, as it would be stored: the account's, with an id and times, texts trimmed, an
-- empty optional text or object absent, and the account's language where none is given. No rule is checked yet.
create or replace function memstore.new_memory(actor memstore.users, given memstore.memories)
returns memstore.memories
language plpgsql
volatile
security invoker
as $$
declare
  v_memory memstore.memories := memstore.trimmed(given);
begin
  v_memory.id := coalesce(given.id, gen_random_uuid());
  v_memory.user_id := actor.id;
  -- An empty bucket is NULL by now, and refused.
  if given.bucket is null then
    v_memory.bucket := 'user';
  end if;
  v_memory.language := coalesce(v_memory.language, actor.language);
  v_memory.evidence_refs := memstore.trim_evidence(given.evidence_refs);
  v_memory.metadata := nullif(given.metadata, '{}');
  v_memory.inserted_at := coalesce(given.inserted_at, clock_timestamp());
  v_memory.updated_at := coalesce(given.updated_at, v_memory.inserted_at);
  return v_memory;
end
$$;

comment on function memstore.new_memory(memstore.users, memstore.memories) is
  'The row that a call asks for, as it would be stored.';
