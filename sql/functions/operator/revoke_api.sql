create or replace function memstore.revoke_api(role text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
revoke_api: takes back grant_api.

Example:
  create role former_application;
  select memstore.grant_api('former_application');
  select memstore.revoke_api('former_application');
  select has_schema_privilege('former_application', 'memstore', 'usage');
Result:
  f

Operator only.

Arguments
  role  text  the role's name
Errors
  argument_invalid  there is no such role
*/
begin
  if not exists (select from pg_roles r where r.rolname = revoke_api.role) then
    perform memstore.refuse_argument('role', 'the name of a role that exists');
  end if;

  execute format('revoke all on all functions in schema memstore from %I', revoke_api.role);
  execute format('revoke usage on schema memstore from %I', revoke_api.role);
end
$$;
