-- Drops what earlier versions had and this one has not. It loads after everything that took its place, so that no
-- trigger and no function still depends on it.
drop trigger if exists open_challenges_once on memstore.open_challenges;
drop function if exists
  memstore.compile_similarities(),
  memstore.lock_user(uuid),
  memstore.lock_user(uuid, text),
  memstore.lock_writer(uuid),
  memstore.match_memories(uuid, text, text[], bigint[]),
  memstore.new_memory(
    memstore.users, text, text, text, real[], text, text, text, text, date, text, jsonb, text, uuid
  ),
  memstore.note_deleted_claims(),
  memstore.note_embedding_model(text, integer, text),
  memstore.note_records(),
  memstore.note_retired_claims(),
  memstore.score_memories(uuid, text, real[], text, text[], bigint[]),
  memstore.similarities(uuid[], real[], text),
  memstore.skip_known_challenge(),
  memstore.write_memories(memstore.memories[], boolean),
  memstore.write_user(memstore.users);
