-- Records the checksums of what is installed, unless check_deployment() refuses the files.
--   migrations: an object of names and SHA-256 checksums
create or replace function memstore.record_deployment(code_checksum text, migrations jsonb)
returns void
language plpgsql
volatile
security invoker
set search_path = pg_catalog, pg_temp
as $$
begin
  perform memstore.check_deployment(migrations);
  update memstore.deployment d
  set checksum = migrations ->> d.name
  where d.checksum is null;
  insert into memstore.deployment (name, checksum, catalog)
  values ('sql', code_checksum, memstore.catalog_digest())
  on conflict on constraint deployment_pkey
  do update set checksum = excluded.checksum, catalog = excluded.catalog, installed_at = excluded.installed_at;
end
$$;

comment on function memstore.record_deployment(text, jsonb) is 'Records what is installed.';
