-- Takes superseded claims out of what system recall reads, once a statement, so that many of them cost one refresh.
-- Updating the row of claim_counter first serialises the writers, as in project_records().
create or replace function memstore.project_retired_claims()
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
begin
  -- Most updates concern no claim.
  if not exists (select from new_memories n where n.bucket = 'system') then
    return null;
  end if;
  -- INTERSECT instead of a join, whose plan, made for a few rows, would be a nested loop over many.
  v_claims := array(
    select n.id
    from new_memories n
    where n.bucket = 'system'
    and not n.promoted
    and n.superseded_at is not null
    intersect
    select o.id
    from old_memories o
    where o.superseded_at is null
  );
  if v_claims = '{}' then
    return null;
  end if;

  update memstore.claim_counter set changes = changes + 1;
  perform memstore.refresh_admitted_claims(v_claims);
  return null;
end
$$;

comment on function memstore.project_retired_claims() is 'Trigger: takes superseded claims out of system recall.';

-- Named to fire after memories_count_update: accounts are locked before the counter.
create or replace trigger memories_status_update
after update on memstore.memories
referencing old table as old_memories new table as new_memories
for each statement
execute function memstore.project_retired_claims();
