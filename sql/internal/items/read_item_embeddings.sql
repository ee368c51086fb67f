-- Reads the embeddings of items, each with its item's id and place; refuses the first that is of another form or breaks
-- a rule, a field that comes twice, and more than 100 of an item. It comes before any lock.
--   items: what read_items() has read, and candidates what it has made of it
create or replace function memstore.read_item_embeddings(items jsonb, candidates memstore.items[])
returns table (item integer, embedding memstore.item_embeddings)
language plpgsql
stable
security invoker
as $$
declare
  v_given record;
begin
  for v_given in
    select i.position::integer as position, 'Item ' || i.position as context, i.value -> 'embeddings' as embeddings
    from jsonb_array_elements(items) with ordinality i (value, position)
    where coalesce(i.value -> 'embeddings', 'null') <> 'null'
    order by i.position
  loop
    perform memstore.check_objects(
      'embeddings',
      v_given.embeddings,
      '{"field": "text", "embedding": "_float4", "embedding_model": "text"}',
      v_given.context
    );
    if jsonb_array_length(v_given.embeddings) > 100
      or jsonb_array_length(v_given.embeddings) > (
        select count(distinct coalesce(e.value -> 'field', 'null')) from jsonb_array_elements(v_given.embeddings) e
      )
    then
      perform memstore.refuse_argument('embeddings', 'at most 100, each of another field', v_given.context);
    end if;
    item := v_given.position;
    for embedding in
      select candidates[item].id, e.field, memstore.read_embedding(e.embedding), memstore.trim_text(e.embedding_model)
      from jsonb_to_recordset(v_given.embeddings) e (field text, embedding jsonb, embedding_model text)
    loop
      if not memstore.item_embeddings_obey(embedding) then
        perform memstore.refuse_row('item_embeddings', memstore.item_embeddings_broken(embedding), v_given.context);
      end if;
      return next;
    end loop;
  end loop;
end
$$;

comment on function memstore.read_item_embeddings(jsonb, memstore.items[]) is 'Reads the embeddings of items.';
