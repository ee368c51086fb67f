-- Whether this session runs what pg_dump wrote: its search path is empty, and it checks no function's body. A function
-- of memstore has a search path of its own, so that what it writes itself is never taken for a restore's. It is asked
-- outside of them, in conditions of triggers: so it has no search path, and names its operators. As SQL it would be
-- parsed and planned for each statement.
create or replace function memstore.is_restore()
returns boolean
language plpgsql
stable parallel safe
security invoker
as $$
begin
  return pg_catalog.current_setting('search_path') operator(pg_catalog.=) ''
    and pg_catalog.current_setting('check_function_bodies') operator(pg_catalog.=) 'off';
end
$$;

comment on function memstore.is_restore() is 'Whether this session restores a dump.';
