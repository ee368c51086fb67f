create or replace function memstore.promote_memory(
  actor uuid,
  target uuid,
  stance text,
  evidence_refs jsonb,
  as_of date default null,
  entity text default null
)
returns memstore.memory
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
promote_memory: moves a claim to a reviewed position of a knowledge base.

Example:
  select slug, body, stance from memstore.promote_memory(
    memstore.find_user('steward-1'),
    '00000000-0000-4000-8000-0000000000c1',
    'package-managers',
    '[{"kind": "url", "ref": "https://example.org/package-managers", "digest": "sha256:00"}]'
  );
Result:
  sys:pnpm|Promoted to package-managers.|package-managers

For stewards. Supersedes the claim by a tombstone with the same slug: a pointer to the position, which no recall
returns. Every open challenge of the claim is refuted, as by any steward's correction. The claim's slug and entity stay with the tombstone, also when the claim's author is
erased.

Arguments
  actor          uuid   the steward
  target         uuid   the claim, live
  stance         text   the position's id, 1 to 200 characters: lowercase words joined by single hyphens
  evidence_refs  jsonb  as in insert_memory
  as_of          date   the date for which it holds; today where left out
  entity         text   the claim's where left out; an empty text clears it
Returns
  the tombstone
Errors
  actor_unknown
  steward_required
  stance_required
  not_supersedable  target is no live claim
  rules of memories
*/
declare
  v_user memstore.users;
  v_stance text := memstore.trim_text(promote_memory.stance);
  v_target memstore.memories;
  v_given memstore.memories;
begin
  perform memstore.require_steward(promote_memory.actor);
  if coalesce(v_stance, '') = '' then
    perform memstore.refuse('stance_required', 'stance');
  end if;
  v_user := memstore.lock_memories(promote_memory.actor, array[promote_memory.target]);
  -- It may have been unmarked while this blocked.
  if not v_user.steward then
    perform memstore.refuse('steward_required', 'actor');
  end if;
  select m.*
  into v_target
  from memstore.memories m
  where m.id = promote_memory.target
  and (m.bucket = 'system' and not m.promoted and m.superseded_at is null) is true;
  if not found then
    perform memstore.refuse('not_supersedable', 'target');
  end if;

  v_given := memstore.correction_of(v_target);
  v_given.body := format('Promoted to %s.', v_stance);
  v_given.stance := v_stance;
  v_given.source_ref := null;
  v_given.metadata := null;
  v_given.entity := coalesce(promote_memory.entity, v_target.entity);
  v_given.tier := 'ledger';
  v_given.as_of := coalesce(promote_memory.as_of, current_date);
  v_given.admission := 'candidate';
  v_given.evidence_refs := promote_memory.evidence_refs;
  return memstore.write_correction(v_user, v_target, memstore.new_memory(v_user, v_given));
end
$$;
