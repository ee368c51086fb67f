-- The functions that the owner granted a role itself. Privileges are asked for one by one: with thousands of roles,
-- reading whole lists of them for each is what takes long.
create or replace function memstore.granted_functions(role name)
returns setof regprocedure
language sql
stable
security invoker
set search_path = pg_catalog, pg_temp
as $$
  select p.oid::regprocedure
  from pg_roles r
  join pg_proc p on p.proacl @> makeaclitem(r.oid, p.proowner, 'EXECUTE', false)
  where r.rolname = granted_functions.role
  and p.pronamespace = 'memstore'::regnamespace
$$;

comment on function memstore.granted_functions(name) is 'The functions that a role was granted itself.';
