-- Refuses a restore of the rows alone that inserts them one by one: a memory can come before the one that replaced it, and
-- each INSERT would count its account's memories again. By COPY all rows are there before anything is checked.
create or replace function memstore.refuse_restored_inserts()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
begin
  if current_query() ~* '^\s*insert\M' then
    perform memstore.refuse('restored_by_inserts');
  end if;
  return new;
end
$$;

comment on function memstore.refuse_restored_inserts() is 'Trigger: refuses a restore that inserts rows one by one.';

create or replace trigger users_copied
before insert on memstore.users
for each statement
when (memstore.is_restore())
execute function memstore.refuse_restored_inserts();

create or replace trigger memories_copied
before insert on memstore.memories
for each statement
when (memstore.is_restore())
execute function memstore.refuse_restored_inserts();
