create or replace function memstore.list_claims(
  actor uuid,
  status text default null,
  page_size integer default 50,
  after uuid default null
)
returns setof memstore.claim
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set jit = off
as $$
/*
list_claims: lists the live claims with their statuses, oldest first, as a steward's queue.

Example:
  select (memory).slug, status, open_challenges from memstore.list_claims(memstore.find_user('steward-1'), 'admitted');
Result:
  sys:pnpm|admitted|0

Arguments
  actor      uuid     the steward
  status     text     only claims that are candidate, admitted, rejected or suspended
  page_size  integer  how many claims, 1 to 200; 50 by default
  after      uuid     the id of the last claim of the previous page
Returns
  of each claim its memory, its status, and the number of its open challenges
Errors
  actor_unknown
  steward_required
  argument_invalid  status is none of the four, or page_size is not 1 to 200
  memory_not_found  after is no claim
*/
declare
  v_after memstore.memories;
begin
  perform memstore.require_steward(list_claims.actor);
  if list_claims.status not in ('candidate', 'admitted', 'rejected', 'suspended') then
    perform memstore.refuse_argument('status', 'candidate, admitted, rejected or suspended');
  end if;
  if coalesce(list_claims.page_size, 50) not between 1 and 200 then
    perform memstore.refuse_argument('page_size', '1 to 200');
  end if;
  if list_claims.after is not null then
    select m.*
    into v_after
    from memstore.memories m
    where m.id = list_claims.after
    and m.bucket = 'system'
    and not m.promoted;
    if not found then
      perform memstore.refuse('memory_not_found', 'after');
    end if;
  end if;

  return query
  select
    memstore.to_memory(m),
    coalesce(s.status, 'candidate'),
    (select count(*) from memstore.open_challenges o where o.memory_id = m.id)
  from memstore.memories m
  left join memstore.claim_statuses s on s.memory_id = m.id
  where m.bucket = 'system'
  and m.superseded_at is null
  and not m.promoted
  and (list_claims.status is null or coalesce(s.status, 'candidate') = list_claims.status)
  and (list_claims.after is null or (m.inserted_at, m.id) > (v_after.inserted_at, v_after.id))
  order by m.inserted_at, m.id
  limit coalesce(list_claims.page_size, 50);
end
$$;
