-- Revokes everything from PUBLIC: PostgreSQL grants it EXECUTE on each new function, also in a restore without
-- privileges. What stays is the right to see one's own binding, which the policies of other tables read.
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
  grant select on memstore.account_roles to public;
end
$$;

comment on function memstore.revoke_public() is 'Revokes everything from PUBLIC, but the sight of one''s own binding.';
