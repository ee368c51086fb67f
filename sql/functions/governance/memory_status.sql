create or replace function memstore.memory_status(actor uuid, memory_id uuid)
returns text
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
memory_status: returns the status of a claim, which its records decide.

Example:
  select memstore.memory_status(memstore.find_user('account-1'), '00000000-0000-4000-8000-0000000000c1');
Result:
  admitted

Arguments
  actor      uuid  any account
  memory_id  uuid  the claim, live or superseded
Returns
  candidate, admitted, rejected or suspended; NULL where this is no claim
Errors
  actor_unknown
*/
begin
  perform memstore.require_actor(memory_status.actor);
  return (
    select coalesce(s.status, 'candidate')
    from memstore.memories m
    left join memstore.claim_statuses s on s.memory_id = m.id
    where m.id = memory_status.memory_id
    and m.bucket = 'system'
    and not m.promoted
  );
end
$$;
