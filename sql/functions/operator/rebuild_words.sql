create or replace function memstore.rebuild_words(
  page_size integer default 1000,
  after uuid default null,
  out last uuid,
  out read bigint,
  out rebuilt bigint
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
rebuild_words: makes the lexemes of memories and items again, page by page.

Example:
  select read, rebuilt from memstore.rebuild_words();
Result:
  3|0

Operator only. For a store that came from another major version of PostgreSQL, whose stemmers made its lexemes: until
then queries miss what is now stemmed otherwise. Call it with the last id of the previous page until last is NULL, each
page in a transaction of its own; the application goes on meanwhile. What is right already is read and not written. The
page after which none is left records that the whole store is of this server's dictionaries.

Arguments
  page_size  integer  how many memories and items, 1 to 10,000; 1,000 by default
  after      uuid     the id of the last of the previous page
Returns
  the id of the last memory or item, or NULL if it was the last page; how many were read, and how many rebuilt
Errors
  argument_invalid  page_size is not 1 to 10,000
*/
declare
  v_page uuid[];
  v_changed uuid[];
  v_claims uuid[];
  v_items uuid[];
  v_rebuilt_items bigint;
begin
  if coalesce(rebuild_words.page_size, 1000) not between 1 and 10000 then
    perform memstore.refuse_argument('page_size', '1 to 10000');
  end if;
  v_page := array(
    select p.id
    from (
      (
        select m.id
        from memstore.memories m
        -- Not >, so that the first page has the nil UUID.
        where m.id >= coalesce(rebuild_words.after, '00000000-0000-0000-0000-000000000000')
        and m.id is distinct from rebuild_words.after
        order by m.id
        limit coalesce(rebuild_words.page_size, 1000)
      )
      union
      (
        select i.id
        from memstore.items i
        where i.id >= coalesce(rebuild_words.after, '00000000-0000-0000-0000-000000000000')
        and i.id is distinct from rebuild_words.after
        order by i.id
        limit coalesce(rebuild_words.page_size, 1000)
      )
    ) p
    order by p.id
    limit coalesce(rebuild_words.page_size, 1000)
  );
  v_changed := array(
    select m.id
    from memstore.memories m
    where m.id = any (v_page)
    and m.search_vector is distinct from array_to_tsvector(memstore.lexeme_set(m.language, m.body))
  );
  perform 1
  from memstore.memories m
  where m.id = any (v_changed)
  order by m.id
  for no key update;
  -- The same text: PostgreSQL computes the column that is generated from it again, and nothing else changes.
  update memstore.memories m
  set body = m.body
  where m.id = any (v_changed);
  get diagnostics rebuilt = row_count;

  v_items := array(
    select i.id
    from memstore.items i
    where i.id = any (v_page)
    and i.indexed
    and i.search_vector is distinct from array_to_tsvector(memstore.lexeme_set(i.language, memstore.item_text(i.value)))
  );
  perform 1
  from memstore.items i
  where i.id = any (v_items)
  order by i.id
  for no key update;
  update memstore.items i
  set language = i.language
  where i.id = any (v_items);
  get diagnostics v_rebuilt_items = row_count;
  rebuilt := rebuilt + v_rebuilt_items;

  -- Also what a restore brought, or what was repaired in memories alone.
  if exists (
    select
    from memstore.memories m
    left join memstore.admitted_claims a on a.memory_id = m.id
    where m.id = any (v_page)
    and m.bucket = 'system'
    and (m.id = any (v_changed) or a.search_vector <> m.search_vector)
  ) then
    -- Before it is read which claims are admitted: an admission that is under way would copy the lexemes of before.
    update memstore.claim_counter set changes = changes + 1;
    v_claims := array(
      select a.memory_id
      from memstore.admitted_claims a
      join memstore.memories m on m.id = a.memory_id
      where a.memory_id = any (v_page)
      and a.search_vector <> m.search_vector
    );
    perform memstore.refresh_admitted_claims(v_claims);
    rebuilt := rebuilt + (select count(*) from unnest(v_claims) c (id) where c.id <> all (v_changed));
  end if;

  read := cardinality(v_page)::bigint;
  if read = coalesce(rebuild_words.page_size, 1000) then
    last := v_page[read];
  else
    perform memstore.record_words();
  end if;
end
$$;
