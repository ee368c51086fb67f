-- Reads a JSON array of objects as rows, as they would be stored, with the items' positions from 1 and increasing
-- times. The keys are the arguments of insert_memory or, with_history, all columns but the account and the generated
-- ones. An unknown key or a value of another type is refused with the item's position; the rules of the table are not
-- checked.
create or replace function memstore.read_memories(
  actor memstore.users,
  memories jsonb,
  with_history boolean default false
)
returns table (item bigint, candidate memstore.memories)
language plpgsql
volatile
security invoker
set standard_conforming_strings = on
as $$
declare
  -- The known keys with their types.
  v_types jsonb := (
    select jsonb_object_agg(c.name, c.type)
    from memstore.memory_columns c
    where not c.generated
    and c.name <> 'user_id'
    and (with_history or exists (
      select from pg_proc p
      where p.proname = 'insert_memory'
      and p.pronamespace = 'memstore'::regnamespace
      and c.name = any (p.proargnames)
    ))
  );
  v_started timestamptz := clock_timestamp();
  v_row record;
  v_given memstore.memories;
begin
  perform memstore.check_objects('memories', memories, v_types);

  for v_row in
    select
      i.position,
      jsonb_populate_record(null::memstore.memories, i.value - 'embedding') as given,
      memstore.read_embedding(i.value -> 'embedding') as embedding
    from jsonb_array_elements(memories) with ordinality i (value, position)
    order by i.position
  loop
    item := v_row.position;
    v_given := v_row.given;
    v_given.embedding := v_row.embedding;
    v_given.inserted_at := coalesce(v_given.inserted_at, v_started + item * interval '1 microsecond');
    candidate := memstore.new_memory(actor, v_given);
    return next;
  end loop;
end
$$;

comment on function memstore.read_memories(memstore.users, jsonb, boolean) is
  'Reads a JSON array of objects as rows, as they would be stored.';
