-- The months and years that a query names: months in English, whole words, of which March and May, which are verbs too,
-- need their capital and a word of the sentence before them; and years from 1900 to 2099 in figures.
-- Returns: empty arrays where it names none.
create or replace function memstore.query_times(query text, out months integer[], out years integer[])
language plpgsql
stable
security invoker
as $$
declare
  v_text text := left(query, 512);
begin
  months := '{}';
  years := '{}';
  -- Most queries name none.
  if v_text !~* 'January|February|March|April|May|June|July|August|September|October|November|December|(19|20)\d\d' then
    return;
  end if;
  months := array(
    select n.number::integer
    from unnest(
      '{January,February,March,April,May,June,July,August,September,October,November,December}'::text[]
    ) with ordinality n (name, number)
    where case
      when n.name in ('March', 'May') then v_text ~ ('[^.!?\s]\s+' || n.name || '\M')
      else v_text ~* ('\m' || n.name || '\M')
    end
  );
  years := array(select (r.found)[1]::integer from regexp_matches(v_text, '\m((?:19|20)\d\d)\M', 'g') r (found));
end
$$;

comment on function memstore.query_times(text) is 'The months and years that a query names.';
