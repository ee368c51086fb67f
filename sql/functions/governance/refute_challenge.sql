create or replace function memstore.refute_challenge(actor uuid, challenge_id uuid, ground text, id uuid default null)
returns memstore.admission_record
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
refute_challenge: refutes a challenge, which closes it.

Example:
  select role, memory_id from memstore.refute_challenge(
    memstore.find_user('steward-1'),
    (memstore.challenge_memory(
      memstore.find_user('account-1'), '00000000-0000-4000-8000-0000000000c1', 'It seems wrong to me.'
    )).id,
    'The receipts say otherwise.'
  );
Result:
  refutation|00000000-0000-4000-8000-0000000000c1

For stewards. Another refutation of a closed challenge is recorded and changes nothing.

Arguments
  actor         uuid  the steward
  challenge_id  uuid  the challenge, open or closed
  ground        text  why, 1 to 2,000 characters
  id            uuid  the record's id, for a call that can be repeated; generated where left out
Returns
  the record
Errors
  actor_unknown
  steward_required
  challenge_not_found
  id_taken  another record has the id
  memory_admissions_ground_shape
*/
declare
  v_user memstore.users := memstore.lock_steward(refute_challenge.actor);
  v_memory_id uuid;
begin
  select r.memory_id
  into v_memory_id
  from memstore.memory_admissions r
  where r.id = refute_challenge.challenge_id
  and r.role = 'challenge';
  -- The claim is locked, not the challenge, which is deleted only with it: so does a deletion of the claim.
  perform 1
  from memstore.memories m
  where m.id = v_memory_id
  for key share;
  if not found then
    perform memstore.refuse('challenge_not_found', 'challenge_id');
  end if;
  return memstore.write_record(
    v_user.id, v_memory_id, 'refutation', ground, challenge_id => challenge_id, id => id
  );
end
$$;
