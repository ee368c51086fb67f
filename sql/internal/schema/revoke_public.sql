-- Revokes everything from PUBLIC: PostgreSQL grants it EXECUTE on each new function, also in a restore without
-- privileges.
create or replace function memstore.revoke_public()
returns void
language plpgsql
volatile
security invoker
set search_path = pg_catalog, pg_temp
as $$
begin
  revoke all on all functions in schema memstore from public;
  revoke all on all tables in schema memstore from public;
end
$$;

comment on function memstore.revoke_public() is 'Revokes everything from PUBLIC.';
