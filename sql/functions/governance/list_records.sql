create or replace function memstore.list_records(actor uuid, memory_id uuid)
returns setof memstore.admission_record
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
list_records: lists the records about a claim, oldest first.

Example:
  select role, verdict, ground, effect
  from memstore.list_records(memstore.find_user('account-1'), '00000000-0000-4000-8000-0000000000c1');
Result:
  admission|admitted|The receipt checks out.|

Arguments
  actor      uuid  any account
  memory_id  uuid  the claim, live or superseded
Returns
  the records. The effect of a challenge is in_effect (it suspends the claim), queued (earlier challenges use up its
  author's share of the admitted claims, or one of them is against this claim), not_admitted (only an admitted claim
  can be suspended), without_evidence or refuted; of other records it is NULL
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
