-- Writes one row and returns it; for a correction it also points the target at the row, in one statement, so that the
-- foreign key holds and the count of live memories doesn't grow. The caller has locked the account and, of a
-- correction, locked and checked the target. Where the id is taken by a row of the same content, that row is returned.
--   as_of_given: false where the call left the date to its default, which a retry may find changed
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

  -- Checked before the statement, which would point the target at the row that has the id.
  if write_memory.target is not null then
    select m.*
    into v_stored
    from memstore.memories m
    where m.id = candidate.id;
    if found then
      perform memstore.refuse_id(v_stored, candidate);
    end if;
  end if;

  -- Its ON CONFLICT names no index: the id is in two unique ones, and a concurrent writer of the same id may conflict
  -- with either.
  v_written := memstore.insert_row(candidate, write_memory.target, write_memory.new_id);

  if v_written.id is null then
    select m.*
    into v_stored
    from memstore.memories m
    where m.id = candidate.id;
    if write_memory.target is not null or not memstore.same_content(v_stored, candidate, as_of_given) then
      perform memstore.refuse_id(v_stored, candidate);
    end if;
    v_written := memstore.to_memory(v_stored);
  end if;
  return v_written;
end
$$;

comment on function memstore.write_memory(memstore.memories, uuid, boolean, boolean) is
  'Writes one row and points the one that it replaces, if any, at it.';
