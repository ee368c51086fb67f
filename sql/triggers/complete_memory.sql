-- Gives a memory that has no language its account's, also where a row is written to the table directly.
create or replace function memstore.complete_memory()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  new.language := (select u.language from memstore.users u where u.id = new.user_id);
  return new;
end
$$;

comment on function memstore.complete_memory() is 'Trigger: gives a memory its account''s language.';

create or replace trigger memories_complete
before insert on memstore.memories
for each row
when (new.language is null)
execute function memstore.complete_memory();
