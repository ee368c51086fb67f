-- Takes deleted claims, and the challenges to them, out of the projection. Updating the row of claim_counter first
-- serialises the writers of statuses, and a stale snapshot fails with 40001. The disabled plans would read whole
-- tables for a change of a few rows.
create or replace function memstore.project_deleted_claims()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  v_claims uuid[] := array(select o.id from old_memories o where o.bucket = 'system' and not o.promoted);
  v_authors uuid[];
begin
  if v_claims = '{}' then
    return null;
  end if;
  update memstore.claim_counter set changes = changes + 1;

  with closed as (
    delete from memstore.open_challenges o
    where o.memory_id = any (v_claims)
    returning o.user_id
  )
  select array_agg(distinct c.user_id)
  into v_authors
  from closed c;
  perform memstore.refresh_statuses(v_claims, coalesce(v_authors, '{}'));
  return null;
end
$$;

comment on function memstore.project_deleted_claims() is 'Trigger: updates the statuses after claims are deleted.';

-- Named to fire after memories_count_delete: accounts are locked before the counter.
create or replace trigger memories_status_delete
after delete on memstore.memories
referencing old table as old_memories
for each statement
execute function memstore.project_deleted_claims();
