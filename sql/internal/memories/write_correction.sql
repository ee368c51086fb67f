-- Writes the replacement of a memory and returns it. The caller has locked the target (lock_memories) and checked that
-- it is live and that the actor may correct it. A steward's correction of a claim refutes every open challenge of it,
-- in the same transaction.
create or replace function memstore.write_correction(
  actor memstore.users,
  target memstore.memories,
  candidate memstore.memories
)
returns memstore.memory
language plpgsql
volatile
security invoker
as $$
declare
  v_candidate memstore.memories := candidate;
  v_written memstore.memory;
begin
  -- Also the target's superseded_at, which has to be later than the target and than what the target replaced, even
  -- where the clock was set back.
  v_candidate.inserted_at := greatest(
    v_candidate.inserted_at,
    target.inserted_at + interval '1 microsecond',
    (
      select max(p.superseded_at) + interval '1 microsecond'
      from memstore.memories p
      where p.superseded_by_id = target.id
    )
  );
  v_candidate.updated_at := v_candidate.inserted_at;
  v_written := memstore.write_memory(v_candidate, target.id);

  if actor.steward and target.bucket = 'system' and not target.promoted then
    insert into memstore.memory_admissions (memory_id, user_id, role, challenge_id, ground)
    select o.memory_id, actor.id, 'refutation', o.challenge_id, format('Superseded by %s.', v_written.id)
    from memstore.open_challenges o
    where o.memory_id = target.id;
  end if;
  return v_written;
end
$$;

comment on function memstore.write_correction(memstore.users, memstore.memories, memstore.memories) is
  'Writes the replacement of a memory; of a claim that a steward corrects it refutes the open challenges.';
