-- The statuses, which challenges are open, and what system recall reads follow from the records, which are counted as
-- they arrive.
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

comment on function memstore.skip_derived_row() is 'Trigger: takes nothing from a restore that follows from the records.';

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
