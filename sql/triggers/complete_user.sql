-- Gives a new account the ceiling of the settings where it has none, and counts of nothing. A restored one, whose
-- memories and items are counted as they come, keeps in mind how many it is entitled to where its ceiling or its maximum
-- was lowered since.
create or replace function memstore.complete_user()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if new.maximum_live_memories is null then
    new.maximum_live_memories := (select s.maximum_live_memories from memstore.settings s);
  end if;
  new.restored_memories := case
    when tg_argv[0] = 'restored' and new.live_memories > new.maximum_live_memories then new.live_memories
  end;
  new.restored_items := case
    when tg_argv[0] = 'restored'
      and new.stored_items > coalesce(new.maximum_items, (select s.maximum_items from memstore.settings s))
    then new.stored_items
  end;
  new.live_memories := 0;
  new.stored_items := 0;
  new.candidates := '{}';
  new.has_twins := false;
  return new;
end
$$;

comment on function memstore.complete_user() is 'Trigger: gives an account its ceiling.';

create or replace trigger users_complete
before insert on memstore.users
for each row
when (not memstore.is_restore())
execute function memstore.complete_user();

create or replace trigger users_restored
before insert on memstore.users
for each row
when (memstore.is_restore())
execute function memstore.complete_user('restored');
