-- Writes what has to name every column of memories, from memory_columns, so that a column that a migration adds needs no
-- other mention:
--   to_memory(m) -> memory: one expression, so that the planner inlines it and never builds the whole row;
--   insert_row(candidate, target) -> memory, and insert_rows(candidates) -> how many: the INSERTs;
--   same_content(stored, candidate, as_of_given): whether a repeated call would write what is stored. as_of_given: false
--     where the call left the date to its default, which moves on at midnight;
--   trimmed(given) -> memories: its texts without the white space around them, an empty one absent; but for the stance,
--     which no caller writes: an import gives it as it was;
--   correction_of(target) -> memories: what a correction begins from, without what is its row's own;
--   the trigger memories_fixed: what an UPDATE may not change.
create or replace function memstore.compile_columns()
returns void
language plpgsql
volatile
security invoker
set search_path = pg_catalog, pg_temp
as $$
declare
  c_function constant text := $f$
create or replace function memstore.%s
returns %s
language %s
%s
security invoker
as %L
$f$;
  v_returned text;
  v_columns text;
  v_values text;
  v_stored text;
  v_candidate text;
  v_cleared text;
  v_trimmed text;
  v_new text;
  v_old text;
begin
  select string_agg(format('m.%I', a.attname), ', ' order by a.attnum)
  into v_returned
  from pg_attribute a
  where a.attrelid = 'memstore.memory'::regclass
  and a.attnum > 0
  and not a.attisdropped;
  select
    string_agg(format('%I', c.name), ', ' order by c.position) filter (where not c.generated),
    string_agg(format('c.%I', c.name), ', ' order by c.position) filter (where not c.generated),
    string_agg(format('stored.%I', c.name), ', ' order by c.position) filter (where c.compared and c.name <> 'as_of'),
    string_agg(format('candidate.%I', c.name), ', ' order by c.position) filter (where c.compared and c.name <> 'as_of'),
    string_agg(format(E'  v_correction.%I := null;\n', c.name), '' order by c.position) filter (where not c.inherited),
    string_agg(
      format(E'  v_given.%1$I := nullif(memstore.trim_text(given.%1$I), %2$L);\n', c.name, ''), '' order by c.position
    ) filter (where c.type = 'text' and c.name <> 'stance'),
    string_agg(format('new.%I', c.name), ', ' order by c.position) filter (where c.fixed),
    string_agg(format('old.%I', c.name), ', ' order by c.position) filter (where c.fixed)
  into v_columns, v_values, v_stored, v_candidate, v_cleared, v_trimmed, v_new, v_old
  from memstore.memory_columns c;

  execute format(
    c_function, 'to_memory(m memstore.memories)', 'memstore.memory', 'sql', 'immutable parallel safe',
    format(E'\n  select row(%s)::memstore.memory\n', v_returned)
  );
  execute format(
    c_function, 'insert_row(c memstore.memories, target uuid)', 'memstore.memory', 'plpgsql', 'volatile',
    format(
      $b$
declare
  v_written memstore.memory;
begin
  -- Two statements: an UPDATE, also of no row, fires the statement triggers, which is an eighth of an insert.
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
  execute format(
    c_function, 'insert_rows(candidates memstore.memories[])', 'bigint', 'plpgsql', 'volatile',
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
  execute format(
    c_function,
    'same_content(stored memstore.memories, candidate memstore.memories, as_of_given boolean default true)',
    'boolean',
    'sql',
    'immutable parallel safe',
    format(
      $b$
  select
    row(%s)
    is not distinct from
    row(%s)
    and (not as_of_given or stored.as_of is not distinct from candidate.as_of)
$b$,
      v_stored,
      v_candidate
    )
  );
  execute format(
    c_function, 'correction_of(target memstore.memories)', 'memstore.memories', 'plpgsql', 'immutable parallel safe',
    format(
      $b$
declare
  v_correction memstore.memories := target;
begin
%s  return v_correction;
end
$b$,
      v_cleared
    )
  );
  execute format(
    c_function, 'trimmed(given memstore.memories)', 'memstore.memories', 'plpgsql', 'immutable parallel safe',
    format(
      $b$
declare
  v_given memstore.memories := given;
begin
%s  return v_given;
end
$b$,
      v_trimmed
    )
  );
  comment on function memstore.to_memory(memstore.memories) is 'A row as the functions return it; compiled from its type.';
  comment on function memstore.insert_row(memstore.memories, uuid) is
    'Inserts one memory, and has it replace another; compiled from the columns.';
  comment on function memstore.insert_rows(memstore.memories[]) is 'Inserts many memories; compiled from the columns.';
  comment on function memstore.same_content(memstore.memories, memstore.memories, boolean) is
    'Whether a stored row is what a repeated call would write; compiled from the columns.';
  comment on function memstore.correction_of(memstore.memories) is 'What a correction begins from; compiled from the columns.';

  comment on function memstore.trimmed(memstore.memories) is 'A row with its texts trimmed; compiled from the columns.';

  -- AFTER, because a BEFORE UPDATE trigger would have the generated columns computed again.
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
