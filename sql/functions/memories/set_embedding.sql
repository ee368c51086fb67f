create or replace function memstore.set_embedding(actor uuid, id uuid, embedding real[], embedding_model text)
returns memstore.memory
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
/*
set_embedding: gives a memory an embedding, or takes it away.

Example:
  select embedding_model from memstore.set_embedding(
    memstore.find_user('account-1'),
    '00000000-0000-4000-8000-000000000001',
    '{0.6, 0.8}',
    'two-numbers'
  );
Result:
  two-numbers

Arguments
  actor            uuid    the account
  id               uuid    the memory, live or superseded
  embedding        real[]  as in insert_memory; NULL, with a NULL model, takes it away
  embedding_model  text    its model; NULL with a NULL embedding
Returns
  the memory
Errors
  actor_unknown
  memory_not_found  no memory of the account has the id
  embedding_dimensions_differ
  embedding_model_unregistered
  memories_embedding_shape
  memories_embedding_model_shape
*/
declare
  v_user memstore.users := memstore.lock_actor(set_embedding.actor);
  v_memory memstore.memories;
  v_written memstore.memory;
begin
  select m.*
  into v_memory
  from memstore.memories m
  where m.id = set_embedding.id
  -- IS TRUE leaves the look-up to the key: the account's index would read all of its rows.
  and (m.user_id = v_user.id) is true
  for no key update;
  if not found then
    perform memstore.refuse('memory_not_found', 'id');
  end if;

  v_memory.embedding := set_embedding.embedding;
  v_memory.embedding_model := nullif(memstore.trim_text(set_embedding.embedding_model), '');
  if not memstore.memories_obey(v_memory) then
    perform memstore.refuse_row('memories', memstore.memories_broken(v_memory));
  end if;

  update memstore.memories as m
  set embedding = v_memory.embedding, embedding_model = v_memory.embedding_model, updated_at = clock_timestamp()
  where m.id = set_embedding.id
  returning (memstore.to_memory(m)).*
  into v_written;
  return v_written;
end
$$;
