-- Writes a record, its texts trimmed, and returns it. The caller has checked the actor's role and locked the claim;
-- what the record may be about is checked by the foreign keys. With an id that is there, it returns the record if it is
-- the same, and refuses another.
create or replace function memstore.write_record(
  actor uuid,
  memory_id uuid,
  role text,
  ground text,
  verdict text default null,
  challenge_id uuid default null,
  evidence_refs jsonb default null,
  id uuid default null
)
returns memstore.admission_record
language plpgsql
volatile
security invoker
as $$
declare
  v_candidate memstore.memory_admissions;
begin
  v_candidate.id := coalesce(write_record.id, gen_random_uuid());
  v_candidate.memory_id := write_record.memory_id;
  v_candidate.user_id := write_record.actor;
  v_candidate.role := write_record.role;
  v_candidate.verdict := memstore.trim_text(write_record.verdict);
  v_candidate.challenge_id := write_record.challenge_id;
  v_candidate.ground := memstore.trim_text(write_record.ground);
  v_candidate.evidence_refs := memstore.trim_evidence(write_record.evidence_refs);
  v_candidate.inserted_at := clock_timestamp();
  if not memstore.memory_admissions_obey(v_candidate) then
    perform memstore.refuse_row('memory_admissions', memstore.memory_admissions_broken(v_candidate));
  end if;

  insert into memstore.memory_admissions as r (
    id, memory_id, user_id, role, verdict, challenge_id, ground, evidence_refs, inserted_at
  )
  values (
    v_candidate.id, v_candidate.memory_id, v_candidate.user_id, v_candidate.role, v_candidate.verdict,
    v_candidate.challenge_id, v_candidate.ground, v_candidate.evidence_refs, v_candidate.inserted_at
  )
  on conflict on constraint memory_admissions_pkey do nothing;
  if not found and not exists (
    select
    from memstore.memory_admissions r
    where r.id = v_candidate.id
    and (r.memory_id, r.user_id, r.role, r.ground) = (
      v_candidate.memory_id, v_candidate.user_id, v_candidate.role, v_candidate.ground
    )
    and (r.verdict, r.challenge_id, r.evidence_refs) is not distinct from
      (v_candidate.verdict, v_candidate.challenge_id, v_candidate.evidence_refs)
  ) then
    perform memstore.refuse('id_taken', 'id');
  end if;
  -- Not by RETURNING, which precedes the triggers: they decide its effect.
  return (
    select memstore.to_record(r)
    from memstore.memory_admissions r
    where r.id = v_candidate.id
  );
end
$$;

comment on function memstore.write_record(uuid, uuid, text, text, text, uuid, jsonb, uuid) is 'Writes one record on a claim.';
