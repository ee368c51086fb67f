-- Holds records append-only, for everybody, with two exceptions: a record is deleted with its claim, and the texts of
-- a record become [erased] once its author's account is erased.
create or replace function memstore.refuse_record_change()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op = 'DELETE' and not exists (select from memstore.memories m where m.id = old.memory_id) then
    return old;
  end if;
  if tg_op = 'UPDATE'
    and row(new.id, new.memory_id, new.user_id, new.role, new.verdict, new.challenge_id, new.inserted_at)
      is not distinct from
      row(old.id, old.memory_id, old.user_id, old.role, old.verdict, old.challenge_id, old.inserted_at)
    and new.ground = '[erased]'
    and new.evidence_refs is not distinct from memstore.erase_evidence(old.evidence_refs)
    and exists (select from memstore.users u where u.id = old.user_id and u.erased_at is not null)
  then
    return new;
  end if;
  perform memstore.refuse('record_is_immutable');
  return null;
end
$$;

comment on function memstore.refuse_record_change() is 'Trigger: refuses to change or remove a record.';

create or replace trigger records_fixed
before update or delete on memstore.memory_admissions
for each row
execute function memstore.refuse_record_change();

create or replace trigger records_kept
before truncate on memstore.memory_admissions
for each statement
execute function memstore.refuse_record_change();
