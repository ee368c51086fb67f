-- Holds one number of dimensions for each embedding model, and registered_models_only, also against direct writes; of
-- restored rows the first alone, since the setting may be younger than they are. AFTER, because a BEFORE UPDATE
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
  and (m.registered or tg_argv[0] = 'restored' or not (select s.registered_models_only from memstore.settings s))
  for key share;
  if not found then
    perform memstore.ensure_embedding_model(
      new.embedding_model, cardinality(new.embedding), any_name => coalesce(tg_argv[0] = 'restored', false)
    );
  end if;
  return null;
end
$$;

comment on function memstore.hold_embedding_dimensions() is 'Trigger: holds the dimensions of a model''s embeddings.';

create or replace trigger "Memories_embedding_insert"
after insert on memstore.memories
for each row
when (new.embedding_model is not null and not memstore.is_restore())
execute function memstore.hold_embedding_dimensions();

create or replace trigger "Memories_embedding_restored"
after insert on memstore.memories
for each row
when (new.embedding_model is not null and memstore.is_restore())
execute function memstore.hold_embedding_dimensions('restored');

create or replace trigger "Memories_embedding_update"
after update of embedding, embedding_model on memstore.memories
for each row
when (new.embedding_model is not null)
execute function memstore.hold_embedding_dimensions();

create or replace trigger "Item_embeddings_insert"
after insert on memstore.item_embeddings
for each row
when (not memstore.is_restore())
execute function memstore.hold_embedding_dimensions();

create or replace trigger "Item_embeddings_restored"
after insert on memstore.item_embeddings
for each row
when (memstore.is_restore())
execute function memstore.hold_embedding_dimensions('restored');

create or replace trigger "Item_embeddings_update"
after update of embedding, embedding_model on memstore.item_embeddings
for each row
execute function memstore.hold_embedding_dimensions();
