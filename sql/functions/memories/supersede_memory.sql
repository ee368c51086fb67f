create or replace function memstore.supersede_memory(
  actor uuid,
  target uuid,
  body text,
  bucket text default null,
  source_ref text default null,
  embedding real[] default null,
  embedding_model text default null,
  entity text default null,
  tier text default null,
  as_of date default null,
  admission text default null,
  evidence_refs jsonb default null,
  language text default null,
  id uuid default null
)
returns memstore.memory
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
supersede_memory: corrects a memory.

Example:
  select body from memstore.supersede_memory(
    memstore.find_user('account-1'),
    '00000000-0000-4000-8000-000000000001',
    'I use pnpm 9, not npm.'
  );
Result:
  I use pnpm 9, not npm.

Writes the replacement and points the old row at it, in one step; the old row stays. What is left out (NULL)
of source_ref, language, entity and tier comes from the target; an empty text clears it (of the language: the
account's). A claim keeps its slug, its as_of is today and its admission candidate unless given. Nothing moves
into or out of the system bucket. A steward may correct another account's claim; the replacement is the
steward's, and every open challenge of the claim is answered. A repeated call with the same id and content returns the row already there.

Arguments
  actor            uuid    the account that corrects
  target           uuid    the memory to correct: live, and the account's own (or a claim, for a steward)
  body             text    1 to 2,000 characters
  bucket           text    user, learned or system; the target's where left out
  source_ref       text    as in insert_memory, as are all below
  embedding        real[]  the replacement's; the target's stays with it
  embedding_model  text    its model
  entity           text    system only
  tier             text    system only
  as_of            date    system only; today where left out
  admission        text    system only; candidate where left out
  evidence_refs    jsonb   system only
  language         text    how the body is read
  id               uuid    the replacement's id
Returns
  the replacement
Errors
  actor_unknown
  not_supersedable             one answer for a foreign, a superseded and an unknown id
  id_taken
  quota_reached                a steward's correction of another's claim
  embedding_dimensions_differ
  rules of memories
*/
declare
  v_user memstore.users := memstore.lock_memories(supersede_memory.actor, array[supersede_memory.target]);
  v_target memstore.memories;
  v_given memstore.memories;
  v_candidate memstore.memories;
  v_stored memstore.memories;
  v_bucket text;
begin
  select m.*
  into v_target
  from memstore.memories m
  where m.id = supersede_memory.target
  and (m.user_id = supersede_memory.actor or m.bucket = 'system' and v_user.steward);
  v_bucket := coalesce(memstore.trim_text(supersede_memory.bucket), v_target.bucket);
  if v_target.id is null or (v_bucket = 'system') <> (v_target.bucket = 'system') then
    perform memstore.refuse('not_supersedable', 'target');
  end if;

  -- What is not assigned here is as in the target.
  v_given := memstore.correction_of(v_target);
  v_given.id := supersede_memory.id;
  v_given.bucket := v_bucket;
  v_given.body := supersede_memory.body;
  v_given.source_ref := coalesce(supersede_memory.source_ref, v_target.source_ref);
  v_given.language := coalesce(supersede_memory.language, v_target.language);
  v_given.embedding := supersede_memory.embedding;
  v_given.embedding_model := supersede_memory.embedding_model;
  v_given.entity := coalesce(supersede_memory.entity, v_target.entity);
  v_given.tier := coalesce(supersede_memory.tier, v_target.tier);
  v_given.as_of := supersede_memory.as_of;
  v_given.admission := supersede_memory.admission;
  v_given.evidence_refs := supersede_memory.evidence_refs;
  if v_target.bucket = 'system' then
    v_given.as_of := coalesce(v_given.as_of, current_date);
    v_given.admission := coalesce(v_given.admission, 'candidate');
  end if;
  v_candidate := memstore.new_memory(v_user, v_given);

  if v_target.superseded_at is not null then
    select m.*
    into v_stored
    from memstore.memories m
    where m.id = supersede_memory.id
    and m.id = v_target.superseded_by_id;
    if found and memstore.same_content(v_stored, v_candidate, supersede_memory.as_of is not null) then
      return memstore.to_memory(v_stored);
    end if;
    perform memstore.refuse('not_supersedable', 'target');
  end if;

  return memstore.write_correction(v_user, v_target, v_candidate);
end
$$;

comment on function memstore.supersede_memory(uuid, uuid, text, text, text, real[], text, text, text, date, text, jsonb, text, uuid)
is 'Corrects a memory: writes a replacement, and points the old row at it.';
