create or replace function memstore.forget_embedding_model(name text, clear boolean default false)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
-- So that the index of the models is read, whatever the statistics say.
set enable_seqscan = off
set jit = off
as $$
/*
forget_embedding_model: takes back register_embedding_model.

Example:
  select memstore.forget_embedding_model('no such model');
Result:

Operator only. The name is deleted at once where nothing uses it, and otherwise with its last embedding. With clear, the
embeddings of the model are removed from all memories and items, of every account, which stay without: for a name that an
account has taken with another number of dimensions. Register the name afterwards, and embed the bodies again
(memories_to_embed). What other transactions write meanwhile stays: repeat the call, or let the setting
registered_models_only keep them from the name first.

Arguments
  name   text     the model's name
  clear  boolean  whether to remove the embeddings that use it; false where left out
Errors
  none
*/
begin
  -- Memories and items, then the name, then the counter, which the UPDATE's triggers lock.
  if forget_embedding_model.clear then
    perform 1
    from memstore.item_embeddings e
    where e.embedding_model = forget_embedding_model.name
    order by e.item_id, e.field
    for update;
    perform 1
    from memstore.memories m
    where m.embedding_model = forget_embedding_model.name
    order by m.id
    for no key update;
  end if;
  update memstore.embedding_models e
  set registered = false
  where e.name = forget_embedding_model.name;
  if forget_embedding_model.clear then
    update memstore.memories m
    set embedding = null, embedding_model = null, updated_at = clock_timestamp()
    where m.embedding_model = forget_embedding_model.name;
    delete from memstore.item_embeddings e
    where e.embedding_model = forget_embedding_model.name;
  end if;

  -- Blocking here could deadlock: a writer that has the name may want the counter.
  perform 1
  from memstore.embedding_models e
  where e.name = forget_embedding_model.name
  for update skip locked;
  if found then
    perform memstore.delete_unused_model(forget_embedding_model.name);
  end if;
end
$$;
