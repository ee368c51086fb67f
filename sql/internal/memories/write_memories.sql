-- Writes many rows in one statement, or none, and returns them in their order; a refusal says which item. The caller
-- has checked the rows (check_memories) and then locked the account. Where an id is taken by a row of the same content,
-- that row is returned.
--   waited: how long ago the rows got their times, by which these move
create or replace function memstore.write_memories(candidates memstore.memories[], waited interval default '0')
returns setof memstore.memory
language plpgsql
volatile
security invoker
as $$
declare
  v_candidate memstore.memories;
  v_stored memstore.memories;
  v_item integer;
begin
  -- The first item of a model fixes its dimensions. In the order of names, so that two batches with new names don't
  -- deadlock.
  perform memstore.ensure_embedding_model(e.embedding_model, e.dimensions, 'Item ' || e.item)
  from (
    select distinct on (c.embedding_model collate "C")
      c.embedding_model, cardinality(c.embedding) as dimensions, c.ordinality as item
    from unnest(candidates) with ordinality c
    where c.embedding_model is not null
    and not exists (select from memstore.memories m where m.id = c.id)
    order by c.embedding_model collate "C", c.ordinality
  ) e;
  select min(e.item)::integer
  into v_item
  from (
    select
      c.ordinality as item,
      cardinality(c.embedding) <> first_value(cardinality(c.embedding)) over (
        partition by c.embedding_model order by c.ordinality
      ) as differs
    from unnest(candidates) with ordinality c
    where c.embedding_model is not null
    and not exists (select from memstore.memories m where m.id = c.id)
  ) e
  where e.differs;
  if v_item is not null then
    perform memstore.refuse('embedding_dimensions_differ', 'embedding', 'Item ' || v_item);
  end if;

  if memstore.insert_rows(candidates, waited) < cardinality(candidates) then
    v_item := 0;
    foreach v_candidate in array candidates loop
      v_item := v_item + 1;
      select m.*
      into v_stored
      from memstore.memories m
      where m.id = v_candidate.id;
      if not memstore.same_content(v_stored, v_candidate) then
        perform memstore.refuse_id(v_stored, v_candidate, 'Item ' || v_item);
      end if;
    end loop;
  end if;

  return query
  select (memstore.to_memory(m)).*
  from unnest(candidates) with ordinality c
  join memstore.memories m on m.id = c.id
  order by c.ordinality;
end
$$;

comment on function memstore.write_memories(memstore.memories[], interval) is 'Writes many rows in one statement, or none.';
