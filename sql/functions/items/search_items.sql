create or replace function memstore.search_items(
  actor uuid,
  namespace text[] default '{}',
  query text default null,
  filter jsonb default null,
  embedding real[] default null,
  embedding_model text default null,
  page_size integer default 10,
  skip integer default 0
)
returns table (item memstore.item, score double precision)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
-- So that the account's index is read in one way, whatever the statistics say; and no row is joined with a row.
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
/*
search_items: searches the items in a namespace and below it, by words, by meaning, or by both.

Example:
  select (item).key, score from memstore.search_items(
    memstore.find_user('account-1'),
    '{files}',
    'when do we ship?',
    filter => '{"pages": {"$gt": 1}}'
  );
Result:
  plan.md|1

Every item that passes the filter is compared, and none is left out: the best come first. The score of words is the
share of the query's lexemes that the item has, each counted by how rare it is; that of meaning is the cosine of the
nearest of its embeddings. With both, 0.6 of the first and 0.4 of the second; without either, the newest come first. An
item that has no score comes last: one that words don't find (indexed), and no embedding of the model.

A filter is an object of keys of the value, which must equal, be it a number, string, array or object; or an object of
operators: $eq, $ne, $gt, $gte, $lt, $lte. Numbers compare as numbers, strings by their characters' numbers, and nothing
with something else. A key that an item doesn't have passes no condition.

Arguments
  actor            uuid     the account
  namespace        text[]   the labels that the items' namespaces begin with, each compared whole; empty for all
  query            text     what to search by words; of a long one its first 512 characters; none if NULL or blank
  filter           jsonb    the filter; none if NULL
  embedding        real[]   what to search by meaning; one that no item could have is as none
  embedding_model  text     its model
  page_size        integer  how many items, 1 to 10,000; 10 by default
  skip             integer  how many of the best to leave out, 0 or more
Returns
  item, and score, NULL where it has none; best first, then the last put, then by id
Errors
  actor_unknown
  argument_invalid  namespace, filter, page_size or skip is not of this form
*/
declare
  v_query text := nullif(memstore.trim_text(search_items.query), '');
  v_meant boolean := memstore.embedding_is_usable(search_items.embedding, search_items.embedding_model);
  v_filter record;
begin
  perform memstore.require_actor(search_items.actor);
  if coalesce(search_items.page_size, 10) not between 1 and 10000 then
    perform memstore.refuse_argument('page_size', '1 to 10000');
  end if;
  if array_ndims(search_items.namespace) > 1 or array_lower(search_items.namespace, 1) <> 1 then
    perform memstore.refuse_argument('namespace', 'one list of labels, which begins at 1');
  end if;
  if search_items.skip < 0 then
    perform memstore.refuse_argument('skip', '0 or more');
  end if;
  v_filter := memstore.read_item_filter(search_items.filter);

  if v_query is null and not v_meant then
    return query
    select i.item, null::double precision
    from (
      select f.id, f.updated_at
      from memstore.find_items(actor, search_items.namespace, v_filter.path, v_filter.equal, v_filter.unequal) f
      order by f.updated_at desc, f.id
      limit coalesce(search_items.page_size, 10)
      offset search_items.skip
    ) f
    cross join lateral (
      select
        row(i.namespace, i.key, i.value, i.version, i.ttl_seconds, i.expires_at, i.inserted_at, i.updated_at)::memstore.item
          as item
      from memstore.items i
      where i.id = f.id
      offset 0
    ) i
    order by f.updated_at desc, f.id;
    return;
  end if;
  return query
  with candidates as materialized (
    select f.*
    from memstore.find_items(actor, search_items.namespace, v_filter.path, v_filter.equal, v_filter.unequal) f
  ),
  turns as materialized (
    select t.language, t.n, t.lexemes, memstore.any_lexeme(t.lexemes) as any_word
    from (
      select l.language, l.n, memstore.query_lexemes(l.language, v_query) as lexemes
      from (
        select c.language, count(*) as n
        from candidates c
        where c.search_vector is not null
        and v_query is not null
        group by c.language
      ) l
      offset 0
    ) t
  ),
  words as materialized (
    select t.language, t.n, ('''' || w.lexeme || '''')::tsquery as term, 1::bigint << (w.number - 1)::integer as bit
    from turns t
    cross join unnest(t.lexemes) with ordinality w (lexeme, number)
  ),
  masks as materialized (
    select
      c.id,
      c.language,
      (select bit_or(w.bit) from words w where w.language = c.language and c.search_vector @@ w.term) as mask
    from candidates c
    where c.search_vector @@ (select t.any_word from turns t where t.language = c.language)
  ),
  combinations as materialized (
    select m.language, m.mask, count(*) as items
    from masks m
    group by m.language, m.mask
  ),
  weights as materialized (
    select w.language, w.bit, w.weight / sum(w.weight) over (partition by w.language) as weight
    from (
      select w.language, w.bit, memstore.word_weight(w.n, w.df) as weight
      from (
        select
          w.language,
          w.bit,
          w.n,
          (
            select coalesce(sum(c.items), 0)::bigint
            from combinations c
            where c.language = w.language
            and c.mask & w.bit <> 0
          ) as df
        from words w
        offset 0
      ) w
    ) w
  ),
  -- Three lists of rows, and each item's put together by grouping: a join might be planned as a nested loop.
  scored as (
    select s.id, max(s.updated_at) as updated_at, max(s.lexical_score) as lexical_score, max(s.similarity) as similarity
    from (
      select
        c.id, c.updated_at, case when c.search_vector is not null then 0 end::double precision as lexical_score,
        null::double precision as similarity
      from candidates c
      union all
      select
        m.id,
        null,
        (select sum(w.weight) from weights w where w.language = m.language and w.bit & m.mask <> 0),
        null
      from masks m
      union all
      select s.id, null, null, s.similarity
      from memstore.item_similarities(array(select c.id from candidates c where v_meant), embedding, embedding_model) s
    ) s
    group by s.id
  ),
  best as materialized (
    select
      s.id,
      s.updated_at,
      case
        when v_query is not null and v_meant and (s.lexical_score is not null or s.similarity is not null)
          then memstore.fuse(coalesce(s.lexical_score, 0), greatest(s.similarity, 0), true)
        when v_meant then s.similarity
        when v_query is not null then memstore.fuse(s.lexical_score, null, false)
      end as score
    from scored s
    order by 3 desc nulls last, s.updated_at desc, s.id
    limit coalesce(search_items.page_size, 10)
    offset search_items.skip
  )
  select i.item, b.score
  from best b
  cross join lateral (
    select
      row(i.namespace, i.key, i.value, i.version, i.ttl_seconds, i.expires_at, i.inserted_at, i.updated_at)::memstore.item
        as item
    from memstore.items i
    where i.id = b.id
    offset 0
  ) i
  order by b.score desc nulls last, b.updated_at desc, b.id;
end
$$;
