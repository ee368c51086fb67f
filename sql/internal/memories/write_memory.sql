-- Writes one row and returns it; for a correction it also points the target at the row, in one statement, so that the
-- foreign key holds and the count of live memories doesn't grow. The caller has locked the account and, of a
-- correction, locked and checked the target. Where the id is taken by a row of the same content, that row is returned.
--   as_of_given: false where the call left the date to its default, which a retry may find changed
--   new_id: whether the database chose the id. Then a live row of the same content, the oldest, is returned in place of
--     another one, with the candidate's embedding where it had none.
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

  if v_written.id is null and write_memory.new_id then
    select t.*
    into v_stored
    from (
      select m.*
      from memstore.memories m
      where m.user_id = candidate.user_id
      and hashtextextended(m.body, 0) = hashtextextended(candidate.body, 0)
      and (m.superseded_at is null) is true
      and memstore.same_content(m, candidate)
      -- Rows of one body are few: an order from the index of live rows would read all that the account has.
      offset 0
    ) t
    order by t.inserted_at, t.id
    limit 1;
    if not found then
      return memstore.insert_row(candidate, null, false);
    end if;
    if v_stored.embedding_model is null and candidate.embedding_model is not null then
      update memstore.memories as m
      set embedding = candidate.embedding, embedding_model = candidate.embedding_model, updated_at = clock_timestamp()
      where m.id = v_stored.id
      returning (memstore.to_memory(m)).*
      into v_written;
      return v_written;
    end if;
    return memstore.to_memory(v_stored);
  end if;

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
