create or replace function memstore.find_ids(
  actor uuid,
  prefix text,
  kind text default 'memory',
  page_size integer default 200
)
returns setof uuid
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_custom_plan
set jit = off
as $$
/*
find_ids: finds the ids with a prefix, of what the account can name.

Example:
  select * from memstore.find_ids(memstore.find_user('account-1'), '00000000-0000-4000-8000-00000000000');
Result:
  00000000-0000-4000-8000-000000000001

For people, who name a memory by the first characters of its id. It reads a range of ids, however many the account
has.

Arguments
  actor      uuid     the account
  prefix     text     the id's first characters, in either case; another text begins no id
  kind       text     memory: the account's own, live or superseded; claim: its own claims, and for a steward all live
                      ones; challenge: for a steward, those on live claims that have an open one; memory
  page_size  integer  1 to 200 ids; 200
Returns
  ids, in their order
Errors
  actor_unknown
  steward_required  kind is challenge
  argument_invalid  kind is none of these, or page_size is out of bounds
*/
declare
  c_zeros constant text := '00000000-0000-0000-0000-000000000000';
  v_prefix text := lower(find_ids.prefix);
  v_first uuid;
  v_last uuid;
  v_steward boolean;
begin
  perform memstore.require_actor(find_ids.actor);
  if coalesce(find_ids.kind, 'memory') not in ('memory', 'claim', 'challenge') then
    perform memstore.refuse_argument('kind', 'memory, claim or challenge');
  end if;
  if coalesce(find_ids.page_size, 200) not between 1 and 200 then
    perform memstore.refuse_argument('page_size', '1 to 200');
  end if;
  if find_ids.kind = 'challenge' then
    perform memstore.require_steward(find_ids.actor);
  end if;
  if translate(v_prefix, '123456789abcdef', repeat('0', 15)) is distinct from left(c_zeros, length(v_prefix)) then
    return;
  end if;
  v_first := (overlay(c_zeros placing v_prefix from 1))::uuid;
  v_last := (overlay(translate(c_zeros, '0', 'f') placing v_prefix from 1))::uuid;

  if find_ids.kind = 'challenge' then
    return query
    select r.id
    from memstore.memory_admissions r
    join memstore.memories m on m.id = r.memory_id
    where r.id between v_first and v_last
    and r.role = 'challenge'
    and (m.superseded_at is null) is true
    and exists (select from memstore.open_challenges o where o.memory_id = r.memory_id)
    order by r.id
    limit coalesce(find_ids.page_size, 200);
    return;
  end if;

  select u.steward
  into v_steward
  from memstore.users u
  where u.id = find_ids.actor;
  return query
  select m.id
  from memstore.memories m
  where m.id between v_first and v_last
  -- IS TRUE leaves the look-up to the key: the account's index would read all of its rows.
  and case
    when find_ids.kind = 'claim' then
      m.bucket = 'system' and (m.user_id = find_ids.actor or v_steward and m.superseded_at is null and not m.promoted)
    else m.user_id = find_ids.actor
  end is true
  order by m.id
  limit coalesce(find_ids.page_size, 200);
end
$$;
