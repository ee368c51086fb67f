-- Grants roles, all of which lack the same, those of the functions that there are.
create or replace function memstore.grant_functions(roles name[], names text[])
returns void
language plpgsql
volatile
security invoker
set search_path = pg_catalog, pg_temp
as $$
declare
  v_functions text;
  v_roles text := (select string_agg(quote_ident(r.name), ', ') from unnest(grant_functions.roles) r (name));
begin
  select string_agg(p.oid::regprocedure::text, ', ')
  into v_functions
  from pg_proc p
  where p.pronamespace = 'memstore'::regnamespace
  and p.proname = any (grant_functions.names);
  if v_functions is not null then
    execute format('grant usage on schema memstore to %s', v_roles);
    execute format('grant execute on function %s to %s', v_functions, v_roles);
  end if;
end
$$;

comment on function memstore.grant_functions(name[], text[]) is 'Grants roles functions by name.';
