-- Skips restored rows of the projection: statuses, open challenges, and what system recall reads are derived again as
-- the records are inserted.
create or replace function memstore.skip_derived_row()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return null;
end
$$;

comment on function memstore.skip_derived_row() is 'Trigger: skips restored rows that are derived from the records.';

create or replace trigger claim_statuses_restored
before insert on memstore.claim_statuses
for each row
when (memstore.is_restore())
execute function memstore.skip_derived_row();

create or replace trigger admitted_claims_restored
before insert on memstore.admitted_claims
for each row
when (memstore.is_restore())
execute function memstore.skip_derived_row();

create or replace trigger claim_languages_restored
before insert on memstore.claim_languages
for each row
when (memstore.is_restore())
execute function memstore.skip_derived_row();

create or replace trigger claim_words_restored
before insert on memstore.claim_words
for each row
when (memstore.is_restore())
execute function memstore.skip_derived_row();

create or replace trigger claim_signs_restored
before insert on memstore.claim_signs
for each row
when (memstore.is_restore())
execute function memstore.skip_derived_row();

create or replace trigger open_challenges_restored
before insert on memstore.open_challenges
for each row
when (memstore.is_restore())
execute function memstore.skip_derived_row();
