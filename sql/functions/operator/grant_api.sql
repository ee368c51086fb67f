create or replace function memstore.grant_api(role text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
grant_api: lets a role call the API.

Example:
  create role memory_application;
  select memstore.grant_api('memory_application');
Result:

Operator only. The role may call what sql/functions has outside operator/, and nothing else: no table, no
operator function. Functions that a later version adds are granted to it too, when that version is loaded.

Arguments
  role  text  the role's name
Errors
  argument_invalid  there is no such role
*/
declare
  v_functions text;
begin
  if not exists (select from pg_roles r where r.rolname = grant_api.role) then
    perform memstore.refuse_argument('role', 'the name of a role that exists');
  end if;

  -- A restore without privileges lets PUBLIC execute every function, from which only the schema's missing USAGE kept
  -- the role.
  perform memstore.revoke_public();
  select string_agg(f.signature::text, ', ')
  into v_functions
  from memstore.api_functions f;
  execute format('grant usage on schema memstore to %I', grant_api.role);
  execute format('grant execute on function %s to %I', v_functions, grant_api.role);
end
$$;
