create or replace function memstore.supersede_with(actor uuid, target uuid, replacement uuid)
returns memstore.memory
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
/*
supersede_with: replaces a memory by another one that is already there.

Example:
  select superseded_by_id from memstore.supersede_with(
    memstore.find_user('account-1'),
    '00000000-0000-4000-8000-000000000001',
    (memstore.insert_memory(
      memstore.find_user('account-1'),
      'I use pnpm.',
      id => '00000000-0000-4000-8000-000000000002'
    )).id
  );
Result:
  00000000-0000-4000-8000-000000000002

Several memories may be replaced by the same one: a merge.

Arguments
  actor        uuid  the account
  target       uuid  the memory to replace: live, the account's own, of the bucket user or learned
  replacement  uuid  the memory that replaces it: likewise, and not the target
Returns
  the replaced memory
Errors
  actor_unknown
  not_supersedable  these are not two live memories of the account, both of user or learned
*/
declare
  v_user memstore.users := memstore.lock_memories(
    supersede_with.actor,
    array[supersede_with.target, supersede_with.replacement]
  );
  v_live bigint;
  v_memory memstore.memory;
begin
  select count(*)
  into v_live
  from memstore.memories m
  where m.id in (supersede_with.target, supersede_with.replacement)
  -- IS TRUE leaves the look-up to the key: the index of the live would read all of the account's rows, or the store's.
  and (m.user_id = v_user.id and m.superseded_at is null and m.bucket in ('user', 'learned')) is true;
  if v_live <> 2 then
    perform memstore.refuse_correction(v_user.id, supersede_with.target);
  end if;

  update memstore.memories as m
  set
    superseded_by_id = supersede_with.replacement,
    superseded_at = s.moment,
    updated_at = s.moment
  from (
    select greatest(clock_timestamp(), max(p.superseded_at) + interval '1 microsecond', o.inserted_at) as moment
    from memstore.memories o
    left join memstore.memories p on p.superseded_by_id = o.id
    where o.id = supersede_with.target
    group by o.id
  ) s
  where m.id = supersede_with.target
  returning (memstore.to_memory(m)).*
  into v_memory;
  return v_memory;
end
$$;
