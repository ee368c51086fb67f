-- Writes embedding_is_usable(): whether a query's embedding obeys the rules of a memory's. A query is not refused for
-- an embedding that doesn't: it is compared by its lexemes alone.
create or replace function memstore.compile_embedding_is_usable()
returns void
language plpgsql
volatile
security invoker
set search_path = pg_catalog, pg_temp
as $f$
declare
  v_rules text;
begin
  select string_agg(format('(%s) is not false', r.definition), E'\n    and ' order by r.position)
  into strict v_rules
  from memstore.rules r
  where r.table_name = 'memories'
  and r.field in ('embedding', 'embedding_model');

  execute format(
    $$
create or replace function memstore.embedding_is_usable(embedding real[], embedding_model text)
returns boolean
language plpgsql
immutable parallel safe
security invoker
as %L
$$,
    format(
      $$
begin
  if embedding is null or embedding_model is null then
    return false;
  end if;
  embedding_model := memstore.trim_text(embedding_model);
  return %s;
end
$$,
      v_rules
    )
  );
  comment on function memstore.embedding_is_usable(real[], text) is
    'Whether a query''s embedding obeys the rules of a memory''s; compiled from them.';
end
$f$;

comment on function memstore.compile_embedding_is_usable() is 'Writes the function that checks a query''s embedding.';
