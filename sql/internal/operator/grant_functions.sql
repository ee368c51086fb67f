-- Grants a role those of the functions that there are and that it hasn't been granted itself.
create or replace function memstore.grant_functions(role name, names text[])
returns void
language plpgsql
volatile
security invoker
set search_path = pg_catalog, pg_temp
as $$
declare
  v_functions text;
begin
  select string_agg(p.oid::regprocedure::text, ', ')
  into v_functions
  from pg_proc p
  where p.pronamespace = 'memstore'::regnamespace
  and p.proname = any (grant_functions.names)
  and not exists (
    select
    from aclexplode(p.proacl) a
    join pg_roles r on r.oid = a.grantee
    where r.rolname = grant_functions.role
  );
  if v_functions is not null then
    execute format('grant usage on schema memstore to %I', grant_functions.role);
    execute format('grant execute on function %s to %I', v_functions, grant_functions.role);
  end if;
end
$$;

comment on function memstore.grant_functions(name, text[]) is 'Grants a role functions by name.';
