-- A dump of data alone (pg_dump --data-only), restored into an installed store, brings what is there already, and what
-- follows from other rows. Whatever else is restored, as a plain INSERT of it, is refused or counted as ever. A
-- restore of a whole store has its triggers come after its rows, and meets none of this.

-- The settings are the restored ones.
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
