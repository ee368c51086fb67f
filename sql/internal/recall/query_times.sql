-- The months and years that a query names. Months in English, as whole words; March, April, May, June and August, which
-- are other words and names too, only after a word of time (in, since, last, ...) or, but for a small "march" and "may",
-- beside a number. Years in figures, from 1900 to 2099, that are no amount and no part of a longer word. Of 2024-06 both.
-- Returns: empty arrays where it names none.
create or replace function memstore.query_times(query text, out months integer[], out years integer[])
language plpgsql
stable
security invoker
set standard_conforming_strings = on
as $$
declare
  c_months constant text[] := array[
    'january', 'february', 'march', 'april', 'may', 'june',
    'july', 'august', 'september', 'october', 'november', 'december'
  ];
  c_clear constant text := 'January|February|July|September|October|November|December';
  c_other constant text := 'March|April|May|June|August';
  c_after constant text :=
    '\m(?:in|since|until|till|by|before|after|during|from|between|of|last|next|early|late|mid|this(?! +(?:may|march)))[ -]+';
  c_beside constant text := 'March|MARCH|May|MAY|April|APRIL|april|June|JUNE|june|August|AUGUST|august';
  -- By the rules of "C", so that they don't depend on the database's locale.
  v_text text collate "C" := left(query, 512);
  v_named text collate "C";
begin
  months := '{}';
  years := '{}';
  -- Most queries name none.
  if v_text !~* (c_clear || '|' || c_other || '|(19|20)\d\d') then
    return;
  end if;
  v_text := regexp_replace(v_text, '\s+', ' ', 'g');
  select string_agg(lower(f.found), ' ')
  into v_named
  from (
    select unnest(regexp_matches(v_text, '\m(?:' || c_clear || ')\M', 'gi')) as found
    union all
    -- And what is listed behind it: from April to June.
    select unnest(
      regexp_matches(
        v_text,
        format('%1$s(?:(?:%2$s|%3$s)(?: (?:and|or|to|until) (?:%2$s|%3$s))*)\M', c_after, c_clear, c_other),
        'gi'
      )
    )
    union all
    select unnest(
      regexp_matches(v_text, format('\d(?:st|nd|rd|th)?(?: of)? (?:%1$s)\M|\m(?:%1$s) (?:the )?\d', c_beside), 'g')
    )
    union all
    select c_months[(r.found)[1]::integer]
    from regexp_matches(v_text, '\m(?:19|20)\d\d-(0[1-9]|1[0-2])\M', 'g') r (found)
  ) f;
  months := array(
    select n.number::integer
    from unnest(c_months) with ordinality n (name, number)
    where v_named ~ ('\m' || n.name || '\M')
  );
  years := array(
    select distinct (r.found)[1]::integer
    from regexp_matches(v_text, '(?<![\w$€£#])((?:19|20)\d\d)(?![\w%$€£]|[.,]\d)', 'g') r (found)
    order by 1
  );
end
$$;

comment on function memstore.query_times(text) is 'The months and years that a query names.';
