-- Deletes the name of an embedding model that no memory and no item uses. The caller has locked the name's row, in an
-- earlier statement, so that this one's snapshot has the rows of writers that have committed.
create or replace function memstore.delete_unused_model(name text)
returns void
language plpgsql
volatile
security invoker
as $$
begin
  delete from memstore.embedding_models e
  where e.name = delete_unused_model.name
  and not exists (select from memstore.memories m where m.embedding_model = e.name)
  and not exists (select from memstore.item_embeddings i where i.embedding_model = e.name);
exception
  -- REPEATABLE READ keeps an older snapshot, which the foreign key reads beyond: there is a row that uses the name.
  when foreign_key_violation then
    null;
end
$$;

comment on function memstore.delete_unused_model(text) is 'Deletes the name of an embedding model that nothing uses.';
