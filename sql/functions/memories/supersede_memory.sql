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
  id uuid default null,
  scope text default null,
  metadata jsonb default null
)
returns memstore.memory
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
/*
supersede_memory: corrects a memory by writing its replacement.

Example:
  select body from memstore.supersede_memory(
    memstore.find_user('account-1'),
    '00000000-0000-4000-8000-000000000001',
    'I use pnpm 9, not npm.'
  );
Result:
  I use pnpm 9, not npm.

The old row stays, and points at the replacement. Of source_ref, language, entity, tier, scope and metadata, what is
left out (NULL) comes from the target, and an empty text or object clears it (the language then is the account's). A
claim keeps its slug; its as_of is today and its admission candidate unless given. Nothing moves into or out of the
system bucket. A steward may correct another account's claim: the replacement is the steward's, and every open challenge
of the claim is refuted. Such a replacement inherits no source_ref; the claim's slug, entity, tier and language are the
steward's from then on, and stay when the claim's author is erased. A call repeated with the same id and content returns
the row already there.

Arguments
  actor            uuid    the account that corrects
  target           uuid    the memory to correct: live, and the account's own (or a claim, for a steward)
  body             text    1 to 2,000 characters
  bucket           text    user or learned (a claim stays in system); the target's where left out
  source_ref       text    as in insert_memory, like all below
  embedding        real[]  the replacement's; it doesn't inherit the target's
  embedding_model  text    its model
  entity           text    system only
  tier             text    system only
  as_of            date    system only; today where left out
  admission        text    system only; candidate where left out
  evidence_refs    jsonb   system only
  language         text    the text search configuration of the body
  id               uuid    the replacement's id
  scope            text    as in insert_memory
  metadata         jsonb   as in insert_memory
Returns
  the replacement
Errors
  actor_unknown
  not_supersedable  target is not live, or not the account's to correct: one answer for a foreign, a superseded and an
                    unknown id
  id_taken
  quota_reached     a steward corrects another account's claim, and holds as many live memories as it may
  embedding_dimensions_differ
  embedding_model_unregistered
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
  and (m.user_id is not distinct from supersede_memory.actor or m.bucket = 'system' and v_user.steward);
  v_bucket := coalesce(memstore.trim_text(supersede_memory.bucket), v_target.bucket);
  if v_target.id is null or (v_bucket = 'system') <> (v_target.bucket = 'system') then
    perform memstore.refuse('not_supersedable', 'target');
  end if;

  -- Columns that are not assigned here are inherited from the target.
  v_given := memstore.correction_of(v_target);
  v_given.id := supersede_memory.id;
  v_given.bucket := v_bucket;
  v_given.body := supersede_memory.body;
  -- Not another account's, which may be a text that has to go with it.
  v_given.source_ref := coalesce(
    supersede_memory.source_ref,
    case when v_target.user_id = v_user.id then v_target.source_ref end
  );
  v_given.language := coalesce(supersede_memory.language, v_target.language);
  v_given.embedding := supersede_memory.embedding;
  v_given.embedding_model := supersede_memory.embedding_model;
  v_given.entity := coalesce(supersede_memory.entity, v_target.entity);
  v_given.tier := coalesce(supersede_memory.tier, v_target.tier);
  v_given.as_of := supersede_memory.as_of;
  v_given.admission := supersede_memory.admission;
  v_given.evidence_refs := supersede_memory.evidence_refs;
  v_given.scope := coalesce(supersede_memory.scope, v_target.scope);
  v_given.metadata := coalesce(supersede_memory.metadata, v_target.metadata);
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
    perform memstore.refuse_correction(v_user.id, v_target.id);
  end if;

  return memstore.write_correction(v_user, v_target, v_candidate);
end
$$;
