-- Refuses files of which an applied migration has changed, and a database with migrations that the files lack.
--   migrations: an object of names and SHA-256 checksums
create or replace function memstore.check_deployment(migrations jsonb)
returns void
language plpgsql
stable
security invoker
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text;
begin
  select d.name
  into v_name
  from memstore.deployment d
  where d.name not in ('sql', 'words')
  and d.checksum <> migrations ->> d.name
  order by d.name
  limit 1;
  if found then
    perform memstore.refuse('migration_changed', 'checksum', v_name);
  end if;

  select d.name
  into v_name
  from memstore.deployment d
  where d.name not in ('sql', 'words')
  and not migrations ? d.name
  order by d.name
  limit 1;
  if found then
    perform memstore.refuse('deployment_newer', 'name', v_name);
  end if;
end
$$;

comment on function memstore.check_deployment(jsonb) is 'Refuses files that are not those of what is installed.';
