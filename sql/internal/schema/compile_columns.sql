-- Writes, from the view memory_columns, what has to name the columns of memories, so that a column that a migration
-- adds is mentioned nowhere else:
--   to_memory(m): the row as the functions return it; one expression, which the planner inlines, so that the whole row
--     is never built;
--   trimmed(given): the row with its texts trimmed, and empty ones NULL; not the stance, which an import has to give
--     as it was;
--   insert_row(candidate, target, new_id), insert_rows(candidates, waited): the INSERTs; new_id says that the database
--     chose the id, and that nothing is to be written where the account may have a row of the same body; waited by how
--     much the rows' times move;
--   same_content(stored, candidate, as_of_given): whether a repeated call would write what is stored; as_of_given is
--     false where the call left the date to its default, which changes at midnight;
--   content_of(m): what same_content compares, with the date, as a record;
--   correction_of(target): the values that a correction inherits, the others NULL;
--   memories_fixed: the trigger that refuses an UPDATE of any column but the mutable ones.
create or replace function memstore.compile_columns()
returns void
language plpgsql
volatile
security invoker
set search_path = pg_catalog, pg_temp
as $$
declare
  v_returned text;
  v_trimmed text;
  v_columns text;
  v_values text;
  v_moved_values text;
  v_stored text;
  v_candidate text;
  v_content text;
  v_cleared text;
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
    string_agg(
      format(E'  v_trimmed.%1$I := nullif(memstore.trim_text(given.%1$I), '''');\n', c.name), '' order by c.position
    ) filter (where c.type = 'text' and c.name <> 'stance'),
    string_agg(format('%I', c.name), ', ' order by c.position) filter (where not c.generated),
    string_agg(format('c.%I', c.name), ', ' order by c.position) filter (where not c.generated),
    string_agg(
      format(case when c.name in ('inserted_at', 'updated_at') then 'c.%I + waited' else 'c.%I' end, c.name),
      ', ' order by c.position
    ) filter (where not c.generated),
    string_agg(format('stored.%I', c.name), ', ' order by c.position) filter (where c.compared and c.name <> 'as_of'),
    string_agg(format('candidate.%I', c.name), ', ' order by c.position)
      filter (where c.compared and c.name <> 'as_of'),
    string_agg(format('m.%I', c.name), ', ' order by c.position) filter (where c.compared),
    string_agg(format(E'  v_correction.%I := null;\n', c.name), '' order by c.position) filter (where not c.inherited),
    string_agg(format('new.%I', c.name), ', ' order by c.position) filter (where c.fixed),
    string_agg(format('old.%I', c.name), ', ' order by c.position) filter (where c.fixed)
  into v_trimmed, v_columns, v_values, v_moved_values, v_stored, v_candidate, v_content, v_cleared, v_new, v_old
  from memstore.memory_columns c;

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
  comment on function memstore.to_memory(memstore.memories) is 'A row as the functions return it; compiled.';

  execute format(
    $f$
create or replace function memstore.trimmed(given memstore.memories)
returns memstore.memories
language plpgsql
immutable parallel safe
security invoker
as %L
$f$,
    format(
      $b$
declare
  v_trimmed memstore.memories := given;
begin
%s  return v_trimmed;
end
$b$,
      v_trimmed
    )
  );
  comment on function memstore.trimmed(memstore.memories) is
    'A row with its texts trimmed, empty ones as NULL; compiled from the columns.';

  execute format(
    $f$
create or replace function memstore.insert_row(c memstore.memories, target uuid, new_id boolean)
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
  -- Three statements: an id that the database chose conflicts with none, and an UPDATE, also of no row, fires the
  -- statement triggers, which is an eighth of an insert's cost.
  if insert_row.new_id then
    insert into memstore.memories as m (%1$s)
    select %2$s
    where not exists (
      select
      from memstore.memories o
      where o.user_id = c.user_id
      and hashtextextended(o.body, 0) = hashtextextended(c.body, 0)
    )
    returning (memstore.to_memory(m)).*
    into v_written;
  elsif insert_row.target is null then
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
  comment on function memstore.insert_row(memstore.memories, uuid, boolean) is
    'Inserts a memory and points the one that it replaces, if any, at it; compiled from the columns.';

  execute format(
    $f$
create or replace function memstore.insert_rows(candidates memstore.memories[], waited interval)
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
      v_moved_values
    )
  );
  comment on function memstore.insert_rows(memstore.memories[], interval) is
    'Inserts memories and returns how many were written; compiled from the columns.';

  execute format(
    $f$
create or replace function memstore.same_content(
  stored memstore.memories,
  candidate memstore.memories,
  as_of_given boolean default true
)
returns boolean
language sql
immutable parallel safe
security invoker
as %L
$f$,
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
  comment on function memstore.same_content(memstore.memories, memstore.memories, boolean) is
    'Whether a stored row is what a repeated call would write; compiled from the columns.';

  execute format(
    $f$
create or replace function memstore.content_of(m memstore.memories)
returns record
language sql
immutable parallel safe
security invoker
as %L
$f$,
    format(E'\n  select row(%s)\n', v_content)
  );
  comment on function memstore.content_of(memstore.memories) is
    'What a repeated call has to repeat; compiled from the columns.';

  execute format(
    $f$
create or replace function memstore.correction_of(target memstore.memories)
returns memstore.memories
language plpgsql
immutable parallel safe
security invoker
as %L
$f$,
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
  comment on function memstore.correction_of(memstore.memories) is
    'The values that a correction inherits from its target; compiled from the columns.';

  -- AFTER, because a BEFORE UPDATE trigger has PostgreSQL compute the generated columns again.
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

comment on function memstore.compile_columns() is 'Writes the functions that have to name the columns of memories.';
