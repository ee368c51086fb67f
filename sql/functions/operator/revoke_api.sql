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

Operator only. It takes back every function that the role was granted, by hand too, and forgets what was recorded of it,
also of a role that was dropped. Bindings to accounts end with unbind_role.

Arguments
  role  text  the role's name
Errors
  argument_invalid  there is no such role
  role_bound        the role is bound to an account
*/
begin
  lock table memstore.api_roles in share row exclusive mode;
  if exists (select from memstore.account_roles a where a.role = revoke_api.role) then
    perform memstore.refuse('role_bound', 'role');
  end if;
  delete from memstore.api_roles k
  where k.role = revoke_api.role;
  if exists (select from pg_roles r where r.rolname = revoke_api.role) then
    execute format('revoke all on all functions in schema memstore from %I', revoke_api.role);
    execute format('revoke usage on schema memstore from %I', revoke_api.role);
  elsif not found then
    perform memstore.refuse_argument('role', 'the name of a role that exists');
  end if;
end
$$;
