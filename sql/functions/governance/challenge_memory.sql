create or replace function memstore.challenge_memory(
  actor uuid,
  memory_id uuid,
  ground text,
  evidence_refs jsonb default null,
  id uuid default null
)
returns memstore.admission_record
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
challenge_memory: challenges a claim as wrong.

Example:
  select role, memory_id, effect from memstore.challenge_memory(
    memstore.find_user('account-1'),
    '00000000-0000-4000-8000-0000000000c1',
    'The tool was renamed in May.',
    '[{"kind": "url", "ref": "https://example.org/rename", "digest": "sha256:00"}]'
  );
Result:
  challenge|00000000-0000-4000-8000-0000000000c1|in_effect

Any account may, the claim's author too. Only a challenge with evidence suspends an admitted claim, and the challenges
of one account suspend at most a quarter of all admitted claims, rounded up: the earliest ones; later ones are queued.
Only a refutation closes a challenge.

Arguments
  actor          uuid   the account
  memory_id      uuid   the claim, live or superseded
  ground         text   why, 1 to 2,000 characters
  evidence_refs  jsonb  absent, or 1 to 20 objects with kind (receipt, memory, url), ref (2,000 characters) and
                        digest (200 characters)
  id             uuid   the record's id, for a call that can be repeated; generated where left out
Returns
  the record, with its effect as in list_records
Errors
  actor_unknown
  record_target_not_found
  id_taken       another record has the id
  quota_reached  the account has 200 open challenges
  memory_admissions_ground_shape
  memory_admissions_evidence_refs_shape
*/
declare
  v_user memstore.users := memstore.lock_actor(challenge_memory.actor);
begin
  perform memstore.lock_claim(challenge_memory.memory_id);
  return memstore.write_record(v_user.id, memory_id, 'challenge', ground, evidence_refs => evidence_refs, id => id);
end
$$;
