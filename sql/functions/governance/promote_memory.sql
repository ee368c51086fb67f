/*
promote_memory: a steward moves a claim to a reviewed position of a knowledge base.

Example:
  select slug, body, stance from memstore.promote_memory(
    memstore.find_user('steward-1'),
    '00000000-0000-4000-8000-0000000000c1',
    'package-managers',
    '[{"kind": "url", "ref": "https://example.org/package-managers", "digest": "sha256:00"}]'
  );
Result:
  sys:pnpm|Promoted to package-managers.|package-managers

Supersedes the claim by a tombstone on the same slug: a pointer, not a claim, which reaches no recall. The open
challenges of the claim are answered, as by any correction of a steward's.

Arguments
  actor          uuid   the steward
  target         uuid   the claim, live
  stance         text   the position's id, 1 to 200 characters: lowercase words joined by single hyphens
  evidence_refs  jsonb  1 to 20 objects, as in insert_memory
  as_of          date   today where left out
  entity         text   the claim's where left out; an empty text clears it
Returns
  the tombstone
Errors
  actor_unknown, steward_required, stance_required, not_supersedable (no live claim); the names of the rules
*/
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
as $$
declare
  v_user memstore.users;
  v_stance text := memstore.trim_text(promote_memory.stance);
  v_target memstore.memories;
  v_candidate memstore.memories;
begin
  perform memstore.require_steward(promote_memory.actor);
  if coalesce(v_stance, '') = '' then
    perform memstore.refuse('stance_required', 'stance');
  end if;
  v_user := memstore.lock_memories(promote_memory.actor, array[promote_memory.target]);
  select m.*
  into v_target
  from memstore.memories m
  where m.id = promote_memory.target
  and m.bucket = 'system'
  and not m.promoted
  and m.superseded_at is null;
  if not found then
    perform memstore.refuse('not_supersedable', 'target');
  end if;

  v_candidate := memstore.new_memory(
    actor => v_user,
    body => format('Promoted to %s.', v_stance),
    bucket => 'system',
    source_ref => null,
    embedding => null,
    embedding_model => null,
    slug => v_target.slug,
    entity => coalesce(entity, v_target.entity),
    tier => 'ledger',
    as_of => coalesce(as_of, current_date),
    admission => 'candidate',
    evidence_refs => evidence_refs,
    language => v_target.language,
    id => null
  );
  v_candidate.stance := v_stance;
  return memstore.write_correction(v_user, v_target, v_candidate);
end
$$;

comment on function memstore.promote_memory(uuid, uuid, text, jsonb, date, text)
is 'A steward moves a claim to a reviewed position of a knowledge base.';
