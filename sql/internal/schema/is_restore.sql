-- Whether this session runs what pg_dump wrote: its search path is empty, and it checks no function's body. A function
-- of memstore has a search path of its own, so that what it writes itself is never taken for a restore's.
create or replace function memstore.is_restore()
returns boolean
language sql
stable parallel safe
security invoker
return pg_catalog.current_setting('search_path') operator(pg_catalog.=) ''
  and pg_catalog.current_setting('check_function_bodies') operator(pg_catalog.=) 'off';

comment on function memstore.is_restore() is 'Whether this session restores a dump.';
