-- Writes many rows in one statement, or none, and returns them in their order; a refusal says which item. The caller
-- has checked the rows (check_memories) and then locked the account. Where an id is taken by a row of the same content,
-- that row is returned.
--   new_ids: of each item, whether the database chose its id; such an item is written as by write_memory
--   waited: how long ago the rows got their times, by which these move
create or replace function memstore.write_memories(
  candidates memstore.memories[],
  new_ids boolean[] default null,
  waited interval default '0'
)
returns setof memstore.memory
language plpgsql
volatile
security invoker
as $$
declare
  v_candidates memstore.memories[] := candidates;
  v_candidate memstore.memories;
  v_stored memstore.memories;
  v_twin record;
  v_twins integer := 0;
  v_model record;
  v_item integer;
begin
  if true = any (new_ids) then
    for v_twin in
      select t.item, t.id
      from memstore.find_twins(candidates, new_ids) t
    loop
      v_candidates[v_twin.item].id := v_twin.id;
      v_twins := v_twins + 1;
    end loop;
  end if;

  -- The first item of a model fixes its dimensions. In the order of names, so that two batches with new names don't
  -- deadlock. A row that is stored keeps its embedding: what another item gives for it is not written.
  v_item := null;
  for v_model in
    select
      e.embedding_model as name,
      e.expected as dimensions,
      min(e.item) as item,
      (min(e.item) filter (where e.dimensions <> e.expected))::integer as other_item
    from (
      select
        c.embedding_model,
        c.ordinality as item,
        cardinality(c.embedding) as dimensions,
        first_value(cardinality(c.embedding)) over (partition by c.embedding_model order by c.ordinality) as expected
      from unnest(v_candidates) with ordinality c
      where c.embedding_model is not null
      and not exists (
        select
        from memstore.memories m
        where m.id = c.id
        and (m.embedding_model is not null or new_ids[c.ordinality] is not true)
      )
    ) e
    group by e.embedding_model, e.expected
    order by e.embedding_model collate "C"
  loop
    perform memstore.ensure_embedding_model(v_model.name, v_model.dimensions, 'Item ' || v_model.item);
    v_item := least(v_item, v_model.other_item);
  end loop;
  if v_item is not null then
    perform memstore.refuse('embedding_dimensions_differ', 'embedding', 'Item ' || v_item);
  end if;

  if memstore.insert_rows(v_candidates, waited) + v_twins < cardinality(v_candidates) then
    v_item := 0;
    foreach v_candidate in array v_candidates loop
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

  if v_twins > 0 then
    update memstore.memories m
    set embedding = c.embedding, embedding_model = c.embedding_model, updated_at = clock_timestamp()
    from (
      select distinct on (c.id) c.id, c.embedding, c.embedding_model
      from unnest(v_candidates) with ordinality c
      where new_ids[c.ordinality]
      and c.embedding_model is not null
      order by c.id, c.ordinality
    ) c
    where m.id = c.id
    and m.embedding_model is null;
  end if;

  return query
  select (memstore.to_memory(m)).*
  from unnest(v_candidates) with ordinality c
  join memstore.memories m on m.id = c.id
  order by c.ordinality;
end
$$;

comment on function memstore.write_memories(memstore.memories[], boolean[], interval) is
  'Writes many rows in one statement, or none.';
