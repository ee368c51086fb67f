-- Skips restored rows about what is installed already. A row of a migration that is not installed is kept, so that the
-- next migrate reports it.
create or replace function memstore.skip_installed()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  -- As JSON, because the tables have different columns.
  v_new jsonb := to_jsonb(new);
begin
  case tg_table_name
    when 'deployment' then
      if exists (select from memstore.deployment d where d.name = v_new ->> 'name') then
        return null;
      end if;
    -- What a role was granted here is what counts.
    when 'api_roles' then
      if exists (select from memstore.api_roles k where k.role = v_new ->> 'role') then
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

comment on function memstore.skip_installed() is 'Trigger: skips restored rows about what is installed already.';

create or replace trigger deployment_restored
before insert on memstore.deployment
for each row
when (memstore.is_restore())
execute function memstore.skip_installed();

create or replace trigger api_roles_restored
before insert on memstore.api_roles
for each row
when (memstore.is_restore())
execute function memstore.skip_installed();

-- The tables are not here where yoyo was configured with another schema.
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
