create or replace function memstore.count_claims(actor uuid)
returns table (status text, claims bigint)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
count_claims: counts the live claims by their status, for a steward.

Example:
  select status, claims from memstore.count_claims(memstore.find_user('steward-1'));
Result:
  candidate|0
  admitted|1
  rejected|0
  suspended|0

Arguments
  actor  uuid  the steward
Returns
  of each status how many live claims have it
Errors
  actor_unknown
  steward_required
*/
begin
  perform memstore.require_steward(count_claims.actor);
  return query
  select k.status, count(c.status)
  from unnest('{candidate,admitted,rejected,suspended}'::text[]) with ordinality k (status, position)
  left join (
    select coalesce(s.status, 'candidate') as status
    from memstore.memories m
    left join memstore.claim_statuses s on s.memory_id = m.id
    where m.bucket = 'system'
    and m.superseded_at is null
    and not m.promoted
  ) c on c.status = k.status
  group by k.status, k.position
  order by k.position;
end
$$;
