create or replace function memstore.list_records(actor uuid, memory_id uuid)
returns setof memstore.admission_record
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
/*
list_records: the argument about a claim.

Example:
  select role, verdict, ground
  from memstore.list_records(memstore.find_user('account-1'), '00000000-0000-4000-8000-0000000000c1');
Result:
  admission|admitted|The receipt checks out.

Arguments
  actor      uuid  any account
  memory_id  uuid  the claim, live or superseded
Returns
  its records, oldest first
Errors
  actor_unknown
  record_target_not_found
*/
begin
  if memstore.memory_status(list_records.actor, list_records.memory_id) is null then
    perform memstore.refuse('record_target_not_found', 'memory_id');
  end if;
  return query
  select (memstore.to_record(r)).*
  from memstore.memory_admissions r
  where r.memory_id = list_records.memory_id
  order by r.inserted_at, r.id;
end
$$;

comment on function memstore.list_records(uuid, uuid) is 'The records about a claim, oldest first.';
