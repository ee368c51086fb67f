-- Writes one row and, for a correction, points the row that it replaces at it: in one statement, so that the
-- foreign key holds and the ceiling sees no growth. The caller has locked and checked the target.
-- A taken id returns the row already there where the content is the same. ON CONFLICT names no index: two have the
-- id, and each has to let a concurrent writer of the same id win.
create or replace function memstore.write_memory(
  candidate memstore.memories,
  target uuid default null,
  as_of_given boolean default true,
  new_id boolean default false
)
returns memstore.memory
language plpgsql
volatile
security invoker
as $$
declare
  v_written memstore.memory;
  v_stored memstore.memories;
begin
  if not memstore.memories_obey(candidate) then
    perform memstore.refuse_row('memories', memstore.memories_broken(candidate));
  end if;

  -- Before the statement, which would point the target at whatever has the id.
  if write_memory.target is not null then
    if exists (select from memstore.memories m where m.id = candidate.id) then
      perform memstore.refuse('id_taken', 'id');
    end if;
  end if;

  v_written := memstore.insert_row(candidate, write_memory.target, write_memory.new_id);

  if v_written.id is null then
    select m.*
    into v_stored
    from memstore.memories m
    where m.id = candidate.id;
    if write_memory.target is not null or not memstore.same_content(v_stored, candidate, as_of_given) then
      perform memstore.refuse('id_taken', 'id');
    end if;
    v_written := memstore.to_memory(v_stored);
  end if;
  return v_written;
end
$$;

comment on function memstore.write_memory(memstore.memories, uuid, boolean, boolean)
is 'Writes one row and points the row that it replaces, if any, at it.';
