-- Whether this code is what was loaded last, and nothing has changed it since: then loading it again would only lock
-- tables. Raises what check_deployment() refuses.
--   code_checksum: of the files; migrations: an object of names and SHA-256 checksums
create or replace function memstore.code_is_loaded(code_checksum text, migrations jsonb)
returns boolean
language plpgsql
stable
security invoker
set search_path = pg_catalog, pg_temp
as $$
begin
  perform memstore.check_deployment(migrations);
  return exists (
    select
    from memstore.deployment d
    where d.name = 'sql'
    and d.checksum = code_checksum
    and d.catalog = memstore.catalog_digest()
  )
  and not exists (select from memstore.deployment d where d.name <> 'sql' and d.checksum is null)
  -- A load warns of them.
  and memstore.words_are_current();
end
$$;

comment on function memstore.code_is_loaded(text, jsonb) is 'Whether this code is loaded, and nothing has changed it.';
