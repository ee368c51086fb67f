-- What is installed stays as it is. A migration that isn't stays on record, so that the next migrate tells of it.
create or replace function memstore.skip_installed()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  -- Each table has a key of its own.
  v_new jsonb := to_jsonb(new);
begin
  case tg_table_name
    when 'deployment' then
      if exists (select from memstore.deployment d where d.name = v_new ->> 'name') then
        return null;
      end if;
    when '_yoyo_migration' then
      if exists (select from memstore._yoyo_migration m where m.migration_hash = v_new ->> 'migration_hash') then
        return null;
      end if;
    else
      if exists (select from memstore._yoyo_version v where v.version = (v_new ->> 'version')::integer) then
        return null;
      end if;
  end case;
  return new;
end
$$;

comment on function memstore.skip_installed() is 'Trigger: takes nothing from a restore that is installed already.';

create or replace trigger deployment_restored
before insert on memstore.deployment
for each row
when (memstore.is_restore())
execute function memstore.skip_installed();

-- A yoyo that was told another schema has its tables there.
do $$
begin
  if to_regclass('memstore._yoyo_migration') is not null then
    create or replace trigger yoyo_migration_restored
    before insert on memstore._yoyo_migration
    for each row
    when (memstore.is_restore())
    execute function memstore.skip_installed();

    create or replace trigger yoyo_version_restored
    before insert on memstore._yoyo_version
    for each row
    when (memstore.is_restore())
    execute function memstore.skip_installed();
  end if;
end
$$;
