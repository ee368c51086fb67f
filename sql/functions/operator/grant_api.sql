create or replace function memstore.grant_api(role text, bundle text default 'all')
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
grant_api: lets a role call the API, or a part of it.

Example:
  create role memory_application;
  select memstore.grant_api('memory_application');
  create role memory_dashboard;
  select memstore.grant_api('memory_dashboard', 'read');
Result:

Operator only. The role may call what sql/functions has outside operator/, and nothing else: no table, no
operator function. Whoever may call it may name any account: bind_role lets a role reach one account alone.

What a role is granted is recorded. Functions that a later version adds to its bundle are granted to it too, when that
version is loaded; what is revoked from it by hand stays revoked, and what it is granted by hand is never added to.
list_roles shows it. A call for a role that has another bundle replaces that.

Bundles
  all    every function
  write  all but create_user and delete_user
  read   those that change nothing
Arguments
  role    text  the role's name
  bundle  text  all, write or read; all where left out
Errors
  argument_invalid  there is no such role, or no such bundle
  role_bound        the role, or a member of it, is bound to an account
*/
begin
  if grant_api.bundle is null or grant_api.bundle not in ('all', 'write', 'read') then
    perform memstore.refuse_argument('bundle', 'all, write or read');
  end if;
  perform memstore.grant_to(grant_api.role, grant_api.bundle);
end
$$;
