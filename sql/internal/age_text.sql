-- How long ago, in words, in the largest unit that fits. A moment ahead of the statement is just now.
create or replace function memstore.age_text(moment timestamptz)
returns text
language sql
stable parallel safe
security invoker
as $$
  select coalesce(
    (
      select pg_catalog.format('%s %s%s ago', n.number, u.unit, case when n.number > 1 then 's' end)
      from (
        values ('year', 31536000), ('month', 2592000), ('day', 86400), ('hour', 3600), ('minute', 60)
      ) u (unit, seconds)
      cross join lateral (
        select pg_catalog.floor(extract(epoch from pg_catalog.statement_timestamp() - moment) / u.seconds)::integer as number
      ) n
      where n.number > 0
      order by u.seconds desc
      limit 1
    ),
    'just now'
  )
$$;

comment on function memstore.age_text(timestamptz) is 'How long ago, in words.';
