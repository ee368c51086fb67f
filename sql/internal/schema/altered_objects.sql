-- What of the schema is not as this version makes it: absent, different, or not ours. Indexes that the operator may
-- create (options/large_accounts.sql) may be absent, and plain ones of the operator's own may be there.
create or replace function memstore.altered_objects()
returns table (kind text, name text, state text)
language sql
stable
security invoker
set search_path = pg_catalog, pg_temp
as $$
  select
    c.kind,
    c.name,
    case when not c.found then 'absent' when not c.expected then 'not ours' else 'different' end
  from (
    -- A name can have several digests: that of a function that is compiled with pgvector or without.
    select
      kind,
      name,
      count(o.digest) > 0 as found,
      count(e.digest) > 0 as expected,
      bool_or(o.digest = e.digest) as same
    from memstore.objects() o
    full join memstore.expected_objects() e using (kind, name)
    group by kind, name
  ) c
  where c.same is not true
  and (
    c.found
    or c.kind <> 'optional_index'
    -- yoyo can be configured with another schema for its tables.
    and (c.name !~ '^(_yoyo_|yoyo_lock)' or to_regclass('memstore._yoyo_migration') is not null)
  )
  and (c.expected or c.kind <> 'plain_index')
  order by c.kind collate "C", c.name collate "C"
$$;

comment on function memstore.altered_objects() is 'What of the schema is not as this version makes it, by name.';
