-- Has restored settings replace those that are there. Like all triggers named *_restored it acts only while a dump of
-- data alone (pg_dump --data-only) is restored into an installed store, which has some of the rows already and derives
-- others. A restore of a whole store creates triggers after the rows, so that none of these fires.
create or replace function memstore.replace_settings()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from memstore.settings;
  return new;
end
$$;

comment on function memstore.replace_settings() is 'Trigger: has restored settings replace those that are there.';

create or replace trigger settings_restored
before insert on memstore.settings
for each row
when (memstore.is_restore())
execute function memstore.replace_settings();
