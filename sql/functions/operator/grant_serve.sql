create or replace function memstore.grant_serve(role text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
grant_serve: lets a role be that of memstore serve.

Example:
  create role memory_server;
  select memstore.grant_serve('memory_server');
  select bundle, lacking from memstore.list_roles() where role = 'memory_server';
Result:
  serve|{}

Operator only. The role may call the functions that a token can need (the view api_scopes), and those by which
tokens are redeemed and checked. It may name any account, as with grant_api, and can't make tokens but for the account of
a live session. It is recorded as grant_api records a bundle, and revoke_api takes it back.

Arguments
  role  text  the role's name
Errors
  argument_invalid  there is no such role
  role_bound        the role, or a member of it, is bound to an account
*/
begin
  perform memstore.grant_to(grant_serve.role, 'serve');
end
$$;
