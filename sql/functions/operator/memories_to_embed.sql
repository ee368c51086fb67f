create or replace function memstore.memories_to_embed(
  embedding_model text,
  page_size integer default 1000,
  after uuid default null
)
returns setof memstore.memory
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
memories_to_embed: lists the live memories that have no embedding of a model.

Example:
  select body from memstore.memories_to_embed('two-numbers');
Result:
  I use pnpm, not npm.
  pnpm is the faster package manager.

Operator only. For missing embeddings, and for moving a store to another model: embed the bodies, call set_embedding
with each row's user_id and id, and ask for the page after the last id.

Arguments
  embedding_model  text     the model's name
  page_size        integer  how many memories, 1 to 10,000; 1,000 by default
  after            uuid     the id of the last memory of the previous page
Returns
  memories of all accounts and buckets, tombstones aside, by id
Errors
  argument_invalid  embedding_model is NULL, or page_size is not 1 to 10,000
*/
declare
  -- Trimmed once, not for each row: it may be long.
  v_model text := memstore.trim_text(memories_to_embed.embedding_model);
begin
  if memories_to_embed.embedding_model is null then
    perform memstore.refuse_argument('embedding_model', 'the name of a model');
  end if;
  if coalesce(memories_to_embed.page_size, 1000) not between 1 and 10000 then
    perform memstore.refuse_argument('page_size', '1 to 10000');
  end if;

  return query
  select (memstore.to_memory(m)).*
  from memstore.memories m
  where m.superseded_at is null
  and not m.promoted
  and m.embedding_model is distinct from v_model
  -- Not >, so that the first page has the nil UUID, which is an id like others.
  and m.id >= coalesce(memories_to_embed.after, '00000000-0000-0000-0000-000000000000')
  and m.id is distinct from memories_to_embed.after
  order by m.id
  limit coalesce(memories_to_embed.page_size, 1000);
end
$$;
