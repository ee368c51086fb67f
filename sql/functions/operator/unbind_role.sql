create or replace function memstore.unbind_role(role text, user_id uuid default null)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
unbind_role: takes back bind_role.

Example:
  create role former_agent;
  select memstore.bind_role('former_agent', memstore.find_user('account-1'));
  select memstore.unbind_role('former_agent');
  select has_schema_privilege('former_agent', 'memstore', 'usage');
Result:
  f

Operator only. With its last account a role loses what it was granted, too. It also takes the bindings of a role that was
dropped.

Arguments
  role     text  the role's name
  user_id  uuid  the account; all of the role's where left out
Errors
  argument_invalid  the role is not bound to it
*/
declare
  v_role name := unbind_role.role::name;
begin
  lock table memstore.api_roles in share row exclusive mode;
  delete from memstore.account_roles a
  where a.role = v_role
  and (unbind_role.user_id is null or a.user_id = unbind_role.user_id);
  if not found then
    perform memstore.refuse_argument('role', 'the name of a role that is bound to the account');
  end if;
end
$$;
