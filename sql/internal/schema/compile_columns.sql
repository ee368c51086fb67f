-- Writes what has to name every column of memories, from the catalog, so that a column that a migration adds is
-- stored, returned and immutable without being named:
--   to_memory(row) -> memory: one expression, so that the planner inlines it and never builds the whole row;
--   insert_row(candidate, target) -> memory, and insert_rows(candidates) -> how many: the INSERTs;
--   the trigger memories_fixed: every column but those named here is fixed for the life of a row.
create or replace function memstore.compile_columns()
returns void
language plpgsql
volatile
security invoker
set search_path = pg_catalog, pg_temp
as $$
declare
  c_mutable constant name[] := '{embedding,embedding_model,superseded_by_id,superseded_at,updated_at}';
  v_returned text;
  v_columns text;
  v_values text;
  v_new text;
  v_old text;
begin
  select string_agg(format('m.%I', a.attname), ', ' order by a.attnum)
  into v_returned
  from pg_attribute a
  where a.attrelid = 'memstore.memory'::regclass
  and a.attnum > 0
  and not a.attisdropped;
  execute format(
    $f$
create or replace function memstore.to_memory(m memstore.memories)
returns memstore.memory
language sql
immutable parallel safe
security invoker
as %L
$f$,
    format(E'\n  select row(%s)::memstore.memory\n', v_returned)
  );
  comment on function memstore.to_memory(memstore.memories) is 'A row as the functions return it; compiled from its type.';

  select
    string_agg(format('%I', a.attname), ', ' order by a.attnum),
    string_agg(format('c.%I', a.attname), ', ' order by a.attnum),
    string_agg(format('new.%I', a.attname), ', ' order by a.attnum) filter (where a.attname <> all (c_mutable)),
    string_agg(format('old.%I', a.attname), ', ' order by a.attnum) filter (where a.attname <> all (c_mutable))
  into v_columns, v_values, v_new, v_old
  from pg_attribute a
  where a.attrelid = 'memstore.memories'::regclass
  and a.attnum > 0
  and not a.attisdropped
  and a.attgenerated = '';
  execute format(
    $f$
create or replace function memstore.insert_row(c memstore.memories, target uuid)
returns memstore.memory
language plpgsql
volatile
security invoker
as %L
$f$,
    format(
      $b$
declare
  v_written memstore.memory;
begin
  -- Two statements: an UPDATE, also of no row, fires the statement triggers: an eighth of an insert.
  if insert_row.target is null then
    insert into memstore.memories as m (%1$s)
    values (%2$s)
    on conflict do nothing
    returning (memstore.to_memory(m)).*
    into v_written;
  else
    with replaced as (
      update memstore.memories o
      set superseded_by_id = c.id, superseded_at = c.inserted_at, updated_at = c.inserted_at
      where o.id = insert_row.target
    )
    insert into memstore.memories as m (%1$s)
    values (%2$s)
    on conflict do nothing
    returning (memstore.to_memory(m)).*
    into v_written;
  end if;
  return v_written;
end
$b$,
      v_columns,
      v_values
    )
  );
  comment on function memstore.insert_row(memstore.memories, uuid) is 'Inserts one memory, and has it replace another; compiled from the columns.';
  execute format(
    $f$
create or replace function memstore.insert_rows(candidates memstore.memories[])
returns bigint
language plpgsql
volatile
security invoker
as %L
$f$,
    format(
      $b$
declare
  v_written bigint;
begin
  insert into memstore.memories (%s)
  select %s
  from unnest(candidates) with ordinality c
  order by c.ordinality
  on conflict do nothing;
  get diagnostics v_written = row_count;
  return v_written;
end
$b$,
      v_columns,
      v_values
    )
  );
  comment on function memstore.insert_rows(memstore.memories[]) is 'Inserts many memories; compiled from the columns.';

  -- AFTER, because a BEFORE UPDATE trigger would have the generated columns computed anew.
  execute format(
    $f$
create or replace trigger memories_fixed
after update on memstore.memories
for each row
when (row(%s) is distinct from row(%s))
execute function memstore.refuse_memory_change()
$f$,
    v_new,
    v_old
  );
end
$$;

comment on function memstore.compile_columns() is 'Writes what has to name every column of memories.';
