-- Writes item_similarities(ids, embedding, embedding_model): of each of these items, the similarity of its nearest
-- embedding of the model. Embeddings are compared as compile_scores() says.
create or replace function memstore.compile_item_similarities()
returns void
language plpgsql
volatile
security invoker
set search_path = pg_catalog, pg_temp
as $compile$
declare
  -- OFFSET makes each a look-up by the key, and the model a filter of what it finds: the index on the models has every
  -- row of the store that has the model, and without statistics would be read for each item.
  c_similarities constant text := $$
    select i.id, s.similarity
    from unnest(ids) i (id)
    cross join lateral (
      select max(%s) as similarity
      from (
        select e.embedding, e.embedding_model
        from memstore.item_embeddings e
        where e.item_id = i.id
        offset 0
      ) e
      where e.embedding_model = v_model
      and cardinality(e.embedding) = v_width
    ) s
    where s.similarity is not null;
$$;
  v_vector text;
  v_through_pgvector text := '';
begin
  select format('%I', n.nspname)
  into v_vector
  from pg_extension e
  join pg_namespace n on n.oid = e.extnamespace
  where e.extname = 'vector';
  if v_vector is not null then
    -- The query's embedding in a subquery, so that it is cast once.
    v_through_pgvector := format(
      E'\n  if to_regtype(%L) is not null then\n    return query%s    return;\n  end if;',
      v_vector || '.vector',
      format(
        c_similarities,
        format('1 - (e.embedding::%1$s.vector operator(%1$s.<=>) (select v_embedding::%1$s.vector))', v_vector)
      )
    );
  end if;

  execute format(
    $f$
create or replace function memstore.item_similarities(ids uuid[], embedding real[], embedding_model text)
returns table (id uuid, similarity double precision)
language plpgsql
stable
security invoker
as %L
$f$,
    format(
      $b$
declare
  v_embedding real[] := embedding;
  v_width integer := cardinality(embedding);
  v_model text := memstore.trim_text(embedding_model);
  v_numbers double precision[];
  v_square double precision;
begin%s
  v_numbers := v_embedding;
  v_square := (select sum(e.x * e.x) from unnest(v_numbers) e (x));
  return query%send
$b$,
      v_through_pgvector,
      format(
        c_similarities,
        $$(
          select sum(n.x * n.y) / sqrt(sum(n.x * n.x) * v_square)
          from (select unnest(e.embedding::double precision[]) as x, unnest(v_numbers) as y offset 0) n
        )$$
      )
    )
  );
  comment on function memstore.item_similarities(uuid[], real[], text) is
    'How near the embeddings of items are to a query''s; compiled for the pgvector that is installed, if one is.';
end
$compile$;

comment on function memstore.compile_item_similarities() is 'Writes the function that compares the embeddings of items.';
