-- A claim that is superseded leaves system recall. The update of the counter's row comes first, as for records.
create or replace function memstore.note_retired_claim()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  update memstore.claim_counter set changes = changes + 1;
  perform memstore.refresh_admitted_claims(array[new.id]);
  return null;
end
$$;

comment on function memstore.note_retired_claim() is 'Trigger: takes a superseded claim out of system recall.';

create or replace trigger claims_retired
after update on memstore.memories
for each row
when (new.bucket = 'system' and not new.promoted and old.superseded_at is null and new.superseded_at is not null)
execute function memstore.note_retired_claim();
