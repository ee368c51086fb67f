-- Writes many rows in one statement, or none; a refusal says which item. in_order: gives them rising times.
-- A taken id stands for the row already there where the content is the same.
create or replace function memstore.write_memories(candidates memstore.memories[], in_order boolean)
returns setof memstore.memory
language plpgsql
volatile
security invoker
as $$
declare
  v_candidates memstore.memories[] := candidates;
  v_started timestamptz := clock_timestamp();
  v_candidate memstore.memories;
  v_stored memstore.memories;
  v_item integer := 0;
  v_written bigint;
begin
  foreach v_candidate in array v_candidates loop
    v_item := v_item + 1;
    if not memstore.memories_obey(v_candidate) then
      perform memstore.refuse_row('memories', memstore.memories_broken(v_candidate), 'Item ' || v_item);
    end if;
  end loop;

  -- The first item of a model fixes its dimensions. By name, so that two batches of new names don't wait for each
  -- other.
  perform memstore.note_embedding_model(e.embedding_model, e.dimensions, 'Item ' || e.item)
  from (
    select distinct on (c.embedding_model collate "C")
      c.embedding_model, cardinality(c.embedding) as dimensions, c.ordinality as item
    from unnest(v_candidates) with ordinality c
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
    from unnest(v_candidates) with ordinality c
    where c.embedding_model is not null
    and not exists (select from memstore.memories m where m.id = c.id)
  ) e
  where e.differs;
  if v_item is not null then
    perform memstore.refuse('embedding_dimensions_differ', 'embedding', 'Item ' || v_item);
  end if;

  insert into memstore.memories (
    id, user_id, bucket, body, source_ref, language, embedding, embedding_model, slug, entity, tier, as_of,
    admission, evidence_refs, stance, superseded_by_id, superseded_at, inserted_at, updated_at
  )
  select
    c.id, c.user_id, c.bucket, c.body, c.source_ref, c.language, c.embedding, c.embedding_model, c.slug, c.entity,
    c.tier, c.as_of, c.admission, c.evidence_refs, c.stance, c.superseded_by_id, c.superseded_at,
    case when in_order then v_started + c.ordinality * interval '1 microsecond' else c.inserted_at end,
    case when in_order then v_started + c.ordinality * interval '1 microsecond' else c.updated_at end
  from unnest(v_candidates) with ordinality c
  order by c.ordinality
  on conflict do nothing;
  get diagnostics v_written = row_count;

  if v_written < cardinality(v_candidates) then
    v_item := 0;
    foreach v_candidate in array v_candidates loop
      v_item := v_item + 1;
      select m.*
      into v_stored
      from memstore.memories m
      where m.id = v_candidate.id;
      if not memstore.same_content(v_stored, v_candidate) then
        perform memstore.refuse('id_taken', 'id', 'Item ' || v_item);
      end if;
    end loop;
  end if;

  return query
  select (memstore.to_memory(m)).*
  from unnest(v_candidates) with ordinality c
  join memstore.memories m on m.id = c.id
  order by c.ordinality;
end
$$;

comment on function memstore.write_memories(memstore.memories[], boolean) is 'Writes many rows in one statement, or none.';
