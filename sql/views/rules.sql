-- The check constraints of the tables that functions write: <table>_<field>_shape.
create or replace view memstore.rules
with (security_invoker = true)
as
select
  t.relname::text as table_name,
  c.conname::text as name,
  f.field,
  -- Pretty-printed, which a restored constraint is as the original.
  pg_catalog.pg_get_expr(c.conbin, c.conrelid, true) as definition,
  pg_catalog.obj_description(c.oid, 'pg_constraint') as message,
  c.conkey as columns,
  pg_catalog.array_position(t_columns.names, f.field) as position
from pg_catalog.pg_constraint c
join pg_catalog.pg_class t on t.oid = c.conrelid
cross join lateral (
  select substring(c.conname from length(t.relname) + 2 for length(c.conname) - length(t.relname) - 7) as field
) f
cross join lateral (
  select pg_catalog.array_agg(a.attname::text order by a.attnum) as names
  from pg_catalog.pg_attribute a
  where a.attrelid = t.oid
  and a.attnum > 0
) t_columns
where c.contype = 'c'
and c.connamespace = 'memstore'::regnamespace
and c.conname like '%\_shape';

comment on view memstore.rules is
  'The rules of the tables: each check constraint with its field, its definition, and the comment that states it.';
