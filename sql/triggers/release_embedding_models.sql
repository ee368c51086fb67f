-- Deletes the name of a model that the operator has not registered with its last embedding, at every isolation level.
-- A name that another transaction has locked stays: ensure_embedding_model() lets a name that no row uses have other
-- dimensions. delete_user() has locked the names that it leaves unused, so that none outlives its account.
create or replace function memstore.release_embedding_models()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
-- So that a name is looked up by one step into the index; a bitmap is made of all rows of the model, in every write.
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_names text[];
begin
  -- Each name once: the check reads the index entries of all rows that the statement removed.
  select array_agg(o.name)
  into v_names
  from (
    select distinct n.embedding_model as name
    from old_rows n
    where n.embedding_model is not null
  ) o
  where (select true from memstore.memories m where m.embedding_model = o.name limit 1) is null
  and (select true from memstore.item_embeddings i where i.embedding_model = o.name limit 1) is null;
  if v_names is null then
    return null;
  end if;

  -- SKIP LOCKED, because blocking here could deadlock.
  select array_agg(l.name)
  into v_names
  from (
    select e.name
    from memstore.embedding_models e
    where e.name = any (v_names)
    and not e.registered
    for update skip locked
  ) l;
  perform memstore.delete_unused_model(n.name)
  from unnest(v_names) n (name);
  return null;
end
$$;

comment on function memstore.release_embedding_models() is
  'Trigger: deletes the names of embedding models that nothing uses.';

create or replace trigger memories_embedding_release_delete
after delete on memstore.memories
referencing old table as old_rows
for each statement
execute function memstore.release_embedding_models();

create or replace trigger memories_embedding_release_update
after update on memstore.memories
referencing old table as old_rows
for each statement
execute function memstore.release_embedding_models();

create or replace trigger item_embeddings_release_delete
after delete on memstore.item_embeddings
referencing old table as old_rows
for each statement
execute function memstore.release_embedding_models();

create or replace trigger item_embeddings_release_update
after update on memstore.item_embeddings
referencing old table as old_rows
for each statement
execute function memstore.release_embedding_models();
