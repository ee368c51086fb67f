-- Writes similarities(): the cosine similarity of a query's embedding to those of some memories. Embeddings of another
-- model or number of dimensions are left out; the caller has trimmed the model's name. It uses pgvector where that is
-- installed, in whichever schema, else plain SQL. It finds by itself that the extension was dropped; one that is
-- installed later is used once the code is loaded again.
-- IS TRUE keeps the index on the models out of it, which has every row of the store that has the model.
create or replace function memstore.compile_similarities()
returns void
language plpgsql
volatile
security invoker
set search_path = pg_catalog, pg_temp
as $f$
declare
  c_function constant text := $$
create or replace function memstore.similarities(ids uuid[], embedding real[], embedding_model text)
returns table (id uuid, similarity double precision)
language plpgsql
stable
security invoker
as %L
$$;
  c_body constant text := $$
begin
  if ids is null then
    return;
  end if;
%s  return query
  select
    m.id,
    (
      select sum(u.a * u.b) / sqrt(sum(u.a * u.a) * sum(u.b * u.b))
      from unnest(m.embedding::double precision[], similarities.embedding::double precision[]) u (a, b)
    )
  from memstore.memories m
  where m.id = any (similarities.ids)
  and (m.embedding_model = similarities.embedding_model) is true
  and cardinality(m.embedding) = cardinality(similarities.embedding);
end
$$;
  c_pgvector constant text := $$  if to_regtype(%1$L) is not null then
    return query
    -- A subquery, so that the query's embedding is cast once.
    select m.id, 1 - (m.embedding::%2$I.vector operator(%2$I.<=>) (select similarities.embedding::%2$I.vector))
    from memstore.memories m
    where m.id = any (similarities.ids)
    and (m.embedding_model = similarities.embedding_model) is true
    and cardinality(m.embedding) = cardinality(similarities.embedding);
    return;
  end if;
$$;
  v_schema name;
begin
  select n.nspname
  into v_schema
  from pg_extension e
  join pg_namespace n on n.oid = e.extnamespace
  where e.extname = 'vector';

  execute format(
    c_function,
    format(c_body, case when v_schema is not null then format(c_pgvector, format('%I.vector', v_schema), v_schema) end)
  );
  comment on function memstore.similarities(uuid[], real[], text) is
    'The cosine similarity of memories'' embeddings to a query''s; compiled for pgvector where it is installed.';
end
$f$;

comment on function memstore.compile_similarities() is 'Writes the function that compares embeddings.';
