create or replace function memstore.list_own_claims(
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
set enable_seqscan = off
set plan_cache_mode = force_custom_plan
-- So that live rows are read from the index that has their order, whatever the statistics say.
set enable_sort = off
set jit = off
as $$
/*
list_own_claims: lists the live claims of an account with their statuses, newest first.

Example:
  select (memory).slug, status, open_challenges from memstore.list_own_claims(memstore.find_user('steward-1'));
Result:
  sys:pnpm|admitted|0

Arguments
  actor      uuid     the account
  status     text     only claims that are candidate, admitted, rejected or suspended
  page_size  integer  how many claims, 1 to 200; 50 by default
  after      uuid     the id of the last claim of the previous page
Returns
  of each claim its memory, its status, and the number of its open challenges
Errors
  actor_unknown
  argument_invalid  status is none of the four, or page_size is not 1 to 200
  memory_not_found  after is no memory of the account
*/
declare
  v_after memstore.memory;
begin
  perform memstore.require_actor(list_own_claims.actor);
  if list_own_claims.status not in ('candidate', 'admitted', 'rejected', 'suspended') then
    perform memstore.refuse_argument('status', 'candidate, admitted, rejected or suspended');
  end if;
  if coalesce(list_own_claims.page_size, 50) not between 1 and 200 then
    perform memstore.refuse_argument('page_size', '1 to 200');
  end if;
  if list_own_claims.after is not null then
    v_after := memstore.get_memory(list_own_claims.actor, list_own_claims.after);
  end if;

  return query
  select
    memstore.to_memory(m),
    coalesce(s.status, 'candidate'),
    (select count(*) from memstore.open_challenges o where o.memory_id = m.id)
  from memstore.memories m
  left join memstore.claim_statuses s on s.memory_id = m.id
  where m.user_id = list_own_claims.actor
  and m.superseded_at is null
  -- IS TRUE leaves the index of all accounts' claims aside.
  and (m.bucket = 'system' and not m.promoted) is true
  and (list_own_claims.status is null or coalesce(s.status, 'candidate') = list_own_claims.status)
  and (list_own_claims.after is null or (m.inserted_at, m.id) < (v_after.inserted_at, v_after.id))
  order by m.inserted_at desc, m.id desc
  limit coalesce(list_own_claims.page_size, 50);
end
$$;
