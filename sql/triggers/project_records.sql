-- Projects new records to statuses, and refuses those of an erased account. Updating the row of claim_counter first serialises the writers of statuses, and a
-- stale snapshot fails with 40001. The disabled plans would read whole tables for a change of a few rows.
create or replace function memstore.project_records()
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
  v_claims uuid[];
  v_authors uuid[];
begin
  if not exists (select from new_records) then
    return null;
  end if;
  update memstore.claim_counter set changes = changes + 1;

  -- An erased account's records are restored, erased as they are.
  perform memstore.refuse('actor_unknown', 'user_id')
  where memstore.has_erased(
    array(
      select distinct n.user_id
      from new_records n
      where tg_argv[0] is distinct from 'restored'
      or n.ground <> '[erased]'
      or n.evidence_refs is distinct from memstore.erase_evidence(n.evidence_refs)
    )
  );

  insert into memstore.open_challenges (challenge_id, memory_id, user_id, inserted_at, evidenced)
  select n.id, n.memory_id, n.user_id, n.inserted_at, n.evidence_refs is not null
  from new_records n
  where n.role = 'challenge'
  and not exists (select from memstore.memory_admissions r where r.challenge_id = n.id);

  with closed as (
    delete from memstore.open_challenges o
    using new_records n
    where n.role = 'refutation'
    and o.challenge_id = n.challenge_id
    returning o.user_id, o.memory_id
  )
  select array_agg(distinct c.user_id), array_agg(distinct c.memory_id)
  into v_authors, v_claims
  from closed c;

  if exists (
    select
    from (select distinct n.user_id from new_records n where n.role = 'challenge') a
    where (select count(*) from memstore.open_challenges o where o.user_id = a.user_id)
      > memstore.maximum_open_challenges()
  ) then
    perform memstore.refuse('quota_reached', 'actor');
  end if;

  select
    array_agg(distinct n.user_id) filter (where n.role = 'challenge' and n.evidence_refs is not null) || v_authors,
    array_agg(distinct n.memory_id) filter (where n.role = 'admission') || v_claims
  into v_authors, v_claims
  from new_records n;
  perform memstore.refresh_statuses(coalesce(v_claims, '{}'), coalesce(v_authors, '{}'));
  return null;
end
$$;

comment on function memstore.project_records() is 'Trigger: updates the statuses after new records.';

create or replace trigger records_status
after insert on memstore.memory_admissions
referencing new table as new_records
for each statement
when (not memstore.is_restore())
execute function memstore.project_records();

create or replace trigger records_status_restored
after insert on memstore.memory_admissions
referencing new table as new_records
for each statement
when (memstore.is_restore())
execute function memstore.project_records('restored');
