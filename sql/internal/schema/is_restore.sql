-- Whether the session restores a dump, as told by two settings that pg_dump writes: an empty search path, and
-- check_function_bodies off. The functions of memstore have a search path of their own, so that their writes are never
-- taken for a restore's. It has none itself, since it reads the session's, and so names its operators. As SQL it would
-- be parsed and planned for each statement.
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
