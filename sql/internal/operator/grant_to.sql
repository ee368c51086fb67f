-- Grants a role a bundle of functions. A role that doesn't exist is refused, and one that is bound to an account, or has
-- a member that is. The caller has checked the bundle.
create or replace function memstore.grant_to(role text, bundle text)
returns void
language plpgsql
volatile
security invoker
set search_path = pg_catalog, pg_temp
as $$
declare
  v_role name := grant_to.role::name;
begin
  lock table memstore.api_roles in share row exclusive mode;
  if not exists (select from pg_roles r where r.rolname = grant_to.role) then
    perform memstore.refuse_argument('role', 'the name of a role that exists');
  end if;
  if exists (
    select
    from memstore.account_roles a
    join pg_roles r on r.rolname = a.role
    where pg_has_role(r.oid, v_role, 'member')
    and not r.rolsuper
  ) then
    perform memstore.refuse('role_bound', 'role');
  end if;

  -- A restore without privileges lets PUBLIC execute every function, from which only the schema's missing USAGE kept
  -- the role.
  perform memstore.revoke_public();
  perform memstore.grant_bundle(v_role, grant_to.bundle);
end
$$;

comment on function memstore.grant_to(text, text) is 'Grants a role that is not bound a bundle of functions.';
