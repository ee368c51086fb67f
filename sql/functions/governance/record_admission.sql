create or replace function memstore.record_admission(actor uuid, memory_id uuid, verdict text, ground text, id uuid default null)
returns memstore.admission_record
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
record_admission: records a steward's verdict on a claim.

Example:
  select memory_id, verdict from memstore.record_admission(
    memstore.find_user('steward-1'),
    '00000000-0000-4000-8000-0000000000c1',
    'admitted',
    'Both receipts check out.'
  );
Result:
  00000000-0000-4000-8000-0000000000c1|admitted

The latest verdict counts. A verdict closes no challenge.

Arguments
  actor      uuid  the steward
  memory_id  uuid  the claim, live or superseded
  verdict    text  admitted or rejected
  ground     text  why, 1 to 2,000 characters
  id         uuid  the record's id, for a call that can be repeated; generated where left out
Returns
  the record
Errors
  actor_unknown
  steward_required
  record_target_not_found
  id_taken  another record has the id
  memory_admissions_verdict_shape
  memory_admissions_ground_shape
*/
declare
  v_user memstore.users := memstore.lock_steward(record_admission.actor);
begin
  perform memstore.lock_claim(record_admission.memory_id);
  return memstore.write_record(v_user.id, memory_id, 'admission', ground, verdict => verdict, id => id);
end
$$;
