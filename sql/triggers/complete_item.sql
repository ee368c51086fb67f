-- Gives a new item its version, and one without a language its account's.
create or replace function memstore.complete_item()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  new.version := nextval('memstore.item_versions');
  if new.language is null then
    new.language := (select u.language from memstore.users u where u.id = new.user_id);
  end if;
  return new;
end
$$;

comment on function memstore.complete_item() is 'Trigger: gives an item its version and its language.';

create or replace trigger items_complete
before insert on memstore.items
for each row
when (not memstore.is_restore())
execute function memstore.complete_item();
