-- Holds the number of dimensions of a model's embeddings: the first one fixes it.
create or replace function memstore.note_embedding_model(name text, dimensions integer, context text default null)
returns void
language plpgsql
volatile
security invoker
as $$
declare
  v_dimensions integer;
begin
  select m.dimensions
  into v_dimensions
  from memstore.embedding_models m
  where m.name = note_embedding_model.name
  for key share;
  if not found then
    insert into memstore.embedding_models (name, dimensions)
    values (note_embedding_model.name, note_embedding_model.dimensions)
    on conflict on constraint embedding_models_pkey do nothing;

    select m.dimensions
    into v_dimensions
    from memstore.embedding_models m
    where m.name = note_embedding_model.name
    for key share;
  end if;
  if v_dimensions <> note_embedding_model.dimensions then
    perform memstore.refuse('embedding_dimensions_differ', 'embedding', context);
  end if;
end
$$;

comment on function memstore.note_embedding_model(text, integer, text) is 'Holds the number of dimensions of a model''s embeddings.';
