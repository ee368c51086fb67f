-- A record as the functions return it; one expression, so that the planner inlines it.
create or replace function memstore.to_record(r memstore.memory_admissions)
returns memstore.admission_record
language sql
immutable parallel safe
security invoker
as $$
  select row(
    r.id, r.memory_id, r.user_id, r.role, r.verdict, r.challenge_id, r.ground, r.evidence_refs, r.slug, r.inserted_at
  )::memstore.admission_record
$$;

comment on function memstore.to_record(memstore.memory_admissions) is 'A record as the functions return it.';
