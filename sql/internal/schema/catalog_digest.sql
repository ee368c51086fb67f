-- A digest of what decides whether the code layer has to load again although its files are the same: its functions,
-- triggers and views as they are now, whether PUBLIC may use them, and the pgvector that they were compiled for. What
-- two servers print differently costs a load and nothing else.
create or replace function memstore.catalog_digest()
returns text
language sql
stable
security invoker
set search_path = pg_catalog, pg_temp
as $$
  select encode(sha256(convert_to(string_agg(o.line, E'\n' order by o.line collate "C"), 'UTF8')), 'hex')
  from (
    select concat_ws(' ', pg_get_functiondef(p.oid), has_function_privilege('public', p.oid, 'execute'))
    from pg_proc p
    where p.pronamespace = 'memstore'::regnamespace
    and p.prokind in ('f', 'p')
    union all
    select concat_ws(' ', pg_get_triggerdef(t.oid), t.tgenabled)
    from pg_trigger t
    join pg_class c on c.oid = t.tgrelid
    where c.relnamespace = 'memstore'::regnamespace
    and not t.tgisinternal
    union all
    select concat_ws(
      ' ',
      c.relname,
      case c.relkind when 'v' then pg_get_viewdef(c.oid) end,
      exists (select from aclexplode(c.relacl) a where a.grantee = 0)
    )
    from pg_class c
    where c.relnamespace = 'memstore'::regnamespace
    and c.relkind in ('r', 'v')
    union all
    select concat_ws(' ', e.extname, e.extnamespace::regnamespace)
    from pg_extension e
    where e.extname = 'vector'
  ) o (line)
$$;

comment on function memstore.catalog_digest() is 'A digest of what the code layer has made, as the catalog has it.';
