-- Writes two functions from the check constraints of a table, so that a rule is stated only there:
--   <table>_obey(candidate): whether the row obeys all of them, as one expression, for the usual case;
--   <table>_broken(candidate): those that it breaks, in the order of the fields, for the refusal.
-- As in a constraint, NULL passes. The candidate's generated columns are NULL; no rule reads them.
create or replace function memstore.compile_rules(table_name text)
returns void
language plpgsql
volatile
security invoker
set search_path = pg_catalog, pg_temp
as $$
declare
  v_fields text;
  v_all text;
  v_each text;
begin
  select string_agg(
    format('  %1$I %2$s := candidate.%1$I;', a.attname, format_type(a.atttypid, a.atttypmod)), E'\n' order by a.attnum
  )
  into v_fields
  from pg_attribute a
  where a.attrelid = format('memstore.%I', compile_rules.table_name)::regclass
  and a.attnum in (select unnest(r.columns) from memstore.rules r where r.table_name = compile_rules.table_name);

  select
    string_agg(format('(%s) is not false', r.definition), E'\n    and ' order by r.position),
    string_agg(
      format(
        E'  if not (%s) then\n    v_broken := v_broken || %L::jsonb;\n  end if;',
        r.definition,
        jsonb_build_object('name', r.name, 'field', r.field, 'message', r.message)
      ),
      E'\n' order by r.position
    )
  into v_all, v_each
  from memstore.rules r
  where r.table_name = compile_rules.table_name;

  execute format(
    $f$
create or replace function memstore.%1$I(candidate memstore.%2$I)
returns boolean
language plpgsql
immutable parallel safe
security invoker
as %3$L
$f$,
    table_name || '_obey',
    table_name,
    format(E'\ndeclare\n%s\nbegin\n  return %s;\nend\n', v_fields, v_all)
  );
  execute format(
    $f$
create or replace function memstore.%1$I(candidate memstore.%2$I)
returns jsonb
language plpgsql
immutable parallel safe
security invoker
as %3$L
$f$,
    table_name || '_broken',
    table_name,
    format(E'\ndeclare\n%s\n  v_broken jsonb := ''[]''::jsonb;\nbegin\n%s\n  return v_broken;\nend\n', v_fields, v_each)
  );
  execute format('comment on function memstore.%I(memstore.%I) is %L', table_name || '_obey', table_name,
    'Whether a row obeys all rules of its table; compiled from them.');
  execute format('comment on function memstore.%I(memstore.%I) is %L', table_name || '_broken', table_name,
    'The rules of its table that a row breaks; compiled from them.');
end
$$;

comment on function memstore.compile_rules(text) is
  'Writes the functions that check a row against the rules of its table.';
