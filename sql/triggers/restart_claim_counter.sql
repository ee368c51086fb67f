-- Has a restored counter start at 0, since the restored records are counted as they are inserted. A counter that is
-- there stays.
create or replace function memstore.restart_claim_counter()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from memstore.claim_counter) then
    return null;
  end if;
  new.admitted := 0;
  return new;
end
$$;

comment on function memstore.restart_claim_counter() is 'Trigger: has a restored counter of claims start at 0.';

create or replace trigger claim_counter_restored
before insert on memstore.claim_counter
for each row
when (memstore.is_restore())
execute function memstore.restart_claim_counter();
