-- Revokes everything from PUBLIC: PostgreSQL grants it EXECUTE on each new function, also in a restore without
-- privileges. What stays is the right to see one's own binding, which the policies of other tables read.
create or replace function memstore.revoke_public()
returns void
language plpgsql
volatile
security invoker
set search_path = pg_catalog, pg_temp
as $$
declare
  v_functions text;
  v_tables text;
begin
  -- Each REVOKE writes the function's row, whether it takes something back or not.
  select string_agg(p.oid::regprocedure::text, ', ')
  into v_functions
  from pg_proc p
  where p.pronamespace = 'memstore'::regnamespace
  and has_function_privilege('public', p.oid, 'execute');
  if v_functions is not null then
    execute format('revoke all on function %s from public', v_functions);
  end if;
  select string_agg(c.oid::regclass::text, ', ')
  into v_tables
  from pg_class c
  where c.relnamespace = 'memstore'::regnamespace
  and c.relkind in ('r', 'v', 'm', 'p', 'f')
  and (
    has_table_privilege('public', c.oid, 'insert, update, delete, truncate, references, trigger')
    or has_any_column_privilege('public', c.oid, 'insert, update, references')
    or has_any_column_privilege('public', c.oid, 'select')
    and c.oid <> 'memstore.account_roles'::regclass
  );
  if v_tables is not null then
    execute format('revoke all on table %s from public', v_tables);
  end if;
  if not has_table_privilege('public', 'memstore.account_roles', 'select') then
    grant select on memstore.account_roles to public;
  end if;
end
$$;

comment on function memstore.revoke_public() is 'Revokes everything from PUBLIC, but the sight of one''s own binding.';
