-- What help() shows of each function: the comment that its body opens with, and the call as the catalog has it.
create or replace view memstore.pages
with (security_invoker = true)
as
select
  f.position,
  f.title as area,
  f.name,
  substring(h.header from '^\w+: ([^\n]+)') as summary,
  concat(
    substring(h.header from '^[^\n]+'), E'\n\nCall\n  ',
    case
      when length(l.line) <= 100 then l.line
      else replace(regexp_replace(l.line, '\((.*)\)$', E'(\n    \\1\n  )'), ', ', E',\n    ')
    end,
    E'\n  returns ', c.result, c.volatility,
    regexp_replace(substring(h.header from '^[^\n]+(.*)$'), '\n(Example|Result):', E'\n\\1', 'g')
  ) collate "default" as page,
  p.oid
from memstore.api f
join pg_catalog.pg_proc p on p.proname = f.name and p.pronamespace = 'memstore'::regnamespace
cross join lateral (select substring(p.prosrc from '^\s*/\*\n(.*?)\n\*/') collate "default" as header) h
cross join lateral (
  select
    string_agg(a.call, ', ' order by a.number) filter (where a.mode = 'i') as arguments,
    coalesce(
      'table (' || string_agg(a.call, ', ' order by a.number) filter (where a.mode in ('o', 't')) || ')',
      replace(
        replace(pg_catalog.pg_get_function_result(p.oid), 'SETOF', 'setof'), 'timestamp with time zone', 'timestamptz'
      )
    ) as result,
    case p.provolatile when 'i' then E'\n  immutable' when 's' then E'\n  stable' end as volatility
  from (
    select
      t.number,
      coalesce(p.proargmodes[t.number], 'i') as mode,
      concat(
        p.proargnames[t.number], ' ',
        replace(pg_catalog.format_type(t.type, null), 'timestamp with time zone', 'timestamptz'),
        ' default ' || regexp_replace(
          replace(pg_catalog.pg_get_function_arg_default(p.oid, t.number::integer), 'NULL', 'null'),
          '::[a-z \[\]]+$',
          ''
        )
      ) as call
    from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) with ordinality t (type, number)
  ) a
) c
cross join lateral (
  select concat('memstore.', f.name, '(', c.arguments, ')') as line
) l;

comment on view memstore.pages is 'What help() shows of each function.';
