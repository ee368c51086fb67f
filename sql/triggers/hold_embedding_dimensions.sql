-- Holds one number of dimensions for each embedding model, also against direct writes. AFTER, because a BEFORE UPDATE
-- trigger has PostgreSQL compute the generated columns again. Triggers fire in the order of their names: the capital
-- has these insert a new model's name before the foreign key's own trigger (RI_…) looks it up.
create or replace function memstore.hold_embedding_dimensions()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  -- As ensure_embedding_model does it: mostly there is nothing else to do.
  perform 1
  from memstore.embedding_models m
  where m.name = new.embedding_model
  and m.dimensions = cardinality(new.embedding)
  for key share;
  if not found then
    perform memstore.ensure_embedding_model(new.embedding_model, cardinality(new.embedding));
  end if;
  return null;
end
$$;

comment on function memstore.hold_embedding_dimensions() is 'Trigger: holds the dimensions of a model''s embeddings.';

create or replace trigger "Memories_embedding_insert"
after insert on memstore.memories
for each row
when (new.embedding_model is not null)
execute function memstore.hold_embedding_dimensions();

create or replace trigger "Memories_embedding_update"
after update of embedding, embedding_model on memstore.memories
for each row
when (new.embedding_model is not null)
execute function memstore.hold_embedding_dimensions();
