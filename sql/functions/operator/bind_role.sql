create or replace function memstore.bind_role(role text, user_id uuid)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
bind_role: binds a role to an account: the role reaches this account and no other.

Example:
  create role agent_of_account_1;
  select memstore.bind_role('agent_of_account_1', memstore.find_user('account-1'));
  select bundle, cardinality(accounts) from memstore.list_roles() where role = 'agent_of_account_1';
Result:
  bound|1

Operator only. For the login of one agent, or of a tenant's service. The role is granted my_<function> for each function
of the API that has an actor, but not create_user, find_user and delete_user; and help, list_rules, memory_violations,
item_violations and schema_version, which name no account. A my_ function takes the arguments of its function, with actor
as the last: the account may be left out where the role is bound to one only. It can be bound to more than one.

The role that counts is the one that was SET in the session, else its login: so a login that is a member of the role, as
PostgREST's authenticator is, acts for its account after set role or set local role. Where the role is granted
SELECT on users, memories, items or memory_admissions, it sees the rows of its accounts, whatever memstore.actor says. An
erasure of the account ends the binding, as unbind_role does. A role that is renamed has none, and reads as one that was
never bound: unbind it first. verify_store names roles that reach more by what they were granted later.

Arguments
  role     text  the role's name
  user_id  uuid  the account
Errors
  actor_unknown
  argument_invalid  there is no such role
  role_unbound      it is a superuser, the schema's owner, has BYPASSRLS, CREATEROLE or REPLICATION, or can call the API or
                    read and write more than its own rows; or is a member of such a role
*/
declare
  v_role name := bind_role.role::name;
begin
  lock table memstore.api_roles in share row exclusive mode;
  if not exists (select from pg_roles r where r.rolname = bind_role.role) then
    perform memstore.refuse_argument('role', 'the name of a role that exists');
  end if;
  perform memstore.lock_account(bind_role.user_id, 'user_id');
  perform memstore.revoke_public();
  if exists (select from memstore.reach_beyond(array[v_role])) then
    perform memstore.refuse('role_unbound', 'role');
  end if;

  insert into memstore.account_roles (role, user_id)
  values (v_role, bind_role.user_id)
  on conflict on constraint account_roles_pkey do nothing;
  perform memstore.grant_bundle(v_role, 'bound');
end
$$;
