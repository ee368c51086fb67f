-- Writes, for each function of the API that names an account, the one that bound roles call in its place: my_<function>,
-- with the same arguments, of which actor comes last and may be left out. Accounts are created, found and erased by
-- others. Bound roles can execute these and not the API itself, so that no way into the API has to check who calls it.
create or replace function memstore.compile_own_api()
returns void
language plpgsql
volatile
security invoker
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
declare
  v_function record;
  v_written text[] := array[]::text[];
  v_signature regprocedure;
begin
  for v_function in
    select p.proname, p.provolatile, p.proretset, g.arguments, g.given, g.results,
      format('my_%s(%s)', p.proname, g.types) as signature,
      case when g.results is null then pg_get_function_result(p.oid) end as result
    from memstore.api f
    join pg_proc p on p.proname = f.name and p.pronamespace = 'memstore'::regnamespace
    cross join lateral (
      select
        concat_ws(
          ', ',
          string_agg(
            format('%I %s', a.name, format_type(a.type, null))
            || coalesce(' default ' || pg_get_function_arg_default(p.oid, a.number::integer), ''),
            ', ' order by a.number
          ) filter (where a.mode = 'i'),
          'actor uuid default null',
          string_agg(format('out %I %s', a.name, format_type(a.type, null)), ', ' order by a.number)
            filter (where a.mode = 'o')
        ) as arguments,
        concat_ws(
          ', ',
          format('actor => memstore.own_account(my_%s.actor)', p.proname),
          string_agg(format('%1$I => my_%2$s.%1$I', a.name, p.proname), ', ' order by a.number)
            filter (where a.mode = 'i')
        ) as given,
        concat_ws(', ', string_agg(format_type(a.type, null), ', ' order by a.number) filter (where a.mode = 'i'), 'uuid')
          as types,
        string_agg(format('%I', a.name), ', ' order by a.number) filter (where a.mode = 'o') as results
      from unnest(p.proargnames, p.proargmodes, coalesce(p.proallargtypes, p.proargtypes::oid[]))
        with ordinality n (name, mode, type, number)
      cross join lateral (select n.name, coalesce(n.mode, 'i') as mode, n.type, n.number) a
      where a.number > 1
    ) g
    where not f.owner_only
    and not f.manages
    and p.proargnames[1] = 'actor'
    -- Of two, the one with fewer arguments is an earlier version's: see obsolete.sql.
    and not exists (
      select from pg_proc n
      where n.pronamespace = p.pronamespace and n.proname = p.proname and n.pronargs > p.pronargs
    )
  loop
    -- What it returns can't be replaced.
    v_signature := to_regprocedure('memstore.' || v_function.signature);
    if pg_get_function_result(v_signature) <> v_function.result then
      execute format('drop function %s', v_signature);
    end if;
    execute format(
      $f$
create or replace function memstore.%I(%s)
%s
language plpgsql
%s
security definer
set search_path = pg_catalog, pg_temp
as %L
$f$,
      'my_' || v_function.proname,
      v_function.arguments,
      'returns ' || v_function.result,
      case v_function.provolatile when 'v' then 'volatile' else 'stable' end,
      format(
        case
          when v_function.proretset then E'\nbegin\n  return query select * from memstore.%1$I(%2$s);\nend\n'
          when v_function.results is null then E'\nbegin\n  return memstore.%1$I(%2$s);\nend\n'
          else E'\nbegin\n  select *\n  into %3$s\n  from memstore.%1$I(%2$s);\nend\n'
        end,
        v_function.proname,
        v_function.given,
        v_function.results
      )
    );
    v_signature := to_regprocedure('memstore.' || v_function.signature);
    execute format(
      'comment on function %s is %L',
      v_signature,
      format('As %s, for a role that bind_role bound to an account; compiled from it.', v_function.proname)
    );
    v_written := v_written || v_signature::text;
  end loop;

  for v_signature in
    select p.oid::regprocedure
    from pg_proc p
    where p.pronamespace = 'memstore'::regnamespace
    and p.proname like 'my\_%'
    and p.oid::regprocedure::text <> all (v_written)
  loop
    execute format('drop function %s', v_signature);
  end loop;
end
$$;

comment on function memstore.compile_own_api() is 'Writes the functions that bound roles call.';
