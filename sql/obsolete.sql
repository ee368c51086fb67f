-- Drops the functions and triggers that an earlier version created and this one doesn't. It loads after their
-- replacements, so that nothing depends on them any more.
do $$
begin
  -- IF EXISTS would lock the table against reads also where there is no such trigger.
  if exists (
    select
    from pg_trigger t
    where t.tgrelid = 'memstore.open_challenges'::regclass
    and t.tgname = 'open_challenges_once'
  ) then
    drop trigger open_challenges_once on memstore.open_challenges;
  end if;
end
$$;
drop function if exists
  memstore.best_memories(uuid, text, real[], text, integer),
  memstore.compile_similarities(),
  memstore.corrected(memstore.memories),
  memstore.count_candidates(uuid),
  memstore.ensure_embedding_model(text, integer, text),
  memstore.insert_row(memstore.memories, uuid),
  memstore.insert_rows(memstore.memories[]),
  memstore.item_passes(jsonb, jsonpath, jsonb, jsonb),
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
  memstore.project_retired_claims(),
  memstore.refuse(text, text, text),
  memstore.score_memories(uuid, text, real[], text, text[], bigint[]),
  memstore.skip_known_challenge(),
  memstore.write_memories(memstore.memories[]),
  memstore.write_memories(memstore.memories[], boolean),
  memstore.write_record(uuid, uuid, text, text, text, uuid, jsonb),
  memstore.write_memory(memstore.memories, uuid, boolean),
  memstore.write_user(memstore.users);

-- Arguments are only ever added, so of two public functions of one name the one with fewer is an earlier version's. No
-- CASCADE: what an application built on it stops the upgrade.
do $$
declare
  v_signature regprocedure;
begin
  for v_signature in
    select p.oid
    from pg_proc p
    join memstore.api f on f.name = p.proname
    where p.pronamespace = 'memstore'::regnamespace
    and exists (
      select
      from pg_proc n
      where n.pronamespace = p.pronamespace
      and n.proname = p.proname
      and n.pronargs > p.pronargs
    )
  loop
    execute format('drop function %s', v_signature);
  end loop;
end
$$;
