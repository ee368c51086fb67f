-- Raises id_taken for the id of a memory that is written; where another account has it, says so, not whose it is. An
-- erased author's claim is another's.
create or replace function memstore.refuse_id(stored memstore.memories, candidate memstore.memories, context text default null)
returns void
language sql
stable
security invoker
as $$
  select memstore.refuse(
    'id_taken',
    'id',
    context,
    case when stored.user_id is distinct from candidate.user_id then 'The id is taken by a memory of another account.' end,
    case
      when stored.user_id is distinct from candidate.user_id
        then 'Leave the id out. An export can be imported into one account of a store only.'
    end
  );
$$;

comment on function memstore.refuse_id(memstore.memories, memstore.memories, text) is
  'Raises id_taken for the id of a memory.';
