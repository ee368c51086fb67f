-- A name that the operator has not registered goes with its last embedding. Whoever might still need it, or can't see
-- whether it is the last, leaves it: ensure_embedding_model treats a name that nobody uses as free.
create or replace function memstore.release_embedding_models()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_names text[];
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    return null;
  end if;
  -- Each name once: to see that no row has it, the index is read through all that the statement took out.
  select array_agg(o.name)
  into v_names
  from (
    select distinct n.embedding_model as name
    from old_memories n
    where n.embedding_model is not null
  ) o
  where not exists (select from memstore.memories m where m.embedding_model = o.name);
  if v_names is null then
    return null;
  end if;

  -- Locked first, so that the next statement sees what a concurrent writer of the name has committed. Waiting for
  -- one could be mutual.
  select array_agg(l.name)
  into v_names
  from (
    select e.name
    from memstore.embedding_models e
    where e.name = any (v_names)
    and not e.registered
    for update skip locked
  ) l;
  delete from memstore.embedding_models e
  where e.name = any (v_names)
  and not exists (select from memstore.memories m where m.embedding_model = e.name);
  return null;
end
$$;

comment on function memstore.release_embedding_models() is 'Trigger: lets go of the names of embedding models that no memory uses.';

create or replace trigger memories_embedding_release_delete
after delete on memstore.memories
referencing old table as old_memories
for each statement
execute function memstore.release_embedding_models();

create or replace trigger memories_embedding_release_update
after update on memstore.memories
referencing old table as old_memories
for each statement
execute function memstore.release_embedding_models();
