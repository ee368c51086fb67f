create or replace function memstore.help(topic text default null)
returns setof text
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set jit = off
-- A page must not depend on the session's settings.
set quote_all_identifiers = off
set standard_conforming_strings = on
as $$
/*
help: shows the page of a function, or what an error means.

Example:
  select memstore.help('find_user') limit 1;
Result:
  find_user: finds the account that has an application's own id.

Without a topic: the list of the functions. With an error's name: its rule, what to do, and the functions that name
it. With any other word: the functions whose pages have it.

Arguments
  topic  text  a function's name, an error's name, or any word; the list of functions where left out
Returns
  the page, one line a row
Errors
  argument_invalid  no page has the word
*/
declare
  -- Also memstore.recall, RECALL and recall(uuid, text).
  v_topic text := regexp_replace(lower(memstore.trim_text(help.topic)), '^memstore[.]|[(].*$', '', 'g');
  v_explained boolean;
begin
  -- What compile_own_api() wrote has the page of what it was written from.
  if exists (select from memstore.bundles b where b.bundle = 'bound' and b.name = v_topic and b.name like 'my\_%') then
    v_topic := substring(v_topic from 4);
    return next format('my_%1$s: %1$s for a bound role; its actor comes last, and may be left out.', v_topic);
    return next '';
  end if;

  return query
  select string_to_table(p.page, E'\n')
  from memstore.pages p
  where p.name = v_topic;
  if found then
    return;
  end if;

  return query
  select l.line
  from (
    select r.message, r.hint from memstore.refusals r where r.name = v_topic
    union all
    select r.message, null from memstore.rules r where r.name = v_topic
  ) e
  cross join unnest(array[v_topic || ': ' || e.message, e.hint]) l (line)
  where l.line is not null;

  v_explained := found;

  return query
  select l.line
  from (
    select
      min(p.position) as position,
      E'\n' || p.area || E'\n' || string_agg('  ' || rpad(p.name, 28) || p.summary, E'\n' order by p.position) as lines
    from memstore.pages p
    where coalesce(v_topic, '') = ''
    or strpos(lower(p.page), v_topic) > 0
    group by p.area
  ) g
  cross join lateral string_to_table(g.lines, E'\n') with ordinality l (line, number)
  order by g.position, l.number;
  if not found and not v_explained then
    perform memstore.refuse_argument('topic', 'a function, an argument, a rule or a word that a page has');
  end if;
end
$$;
