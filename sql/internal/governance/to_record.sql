-- A record as the functions return it, with its effect. That is read from the projection, which the triggers of the
-- writing statement update: the statement itself can't return it. One expression, which the planner inlines.
create or replace function memstore.to_record(r memstore.memory_admissions)
returns memstore.admission_record
language sql
stable parallel safe
security invoker
as $$
  select row(
    r.id, r.memory_id, r.user_id, r.role, r.verdict, r.challenge_id, r.ground, r.evidence_refs, r.slug, r.inserted_at,
    case
      when r.role = 'challenge' then coalesce(
        (
          select case
            when not o.evidenced then 'without_evidence'
            when o.effective then 'in_effect'
            when s.verdict = 'admitted' then 'queued'
            else 'not_admitted'
          end
          from memstore.open_challenges o
          left join memstore.claim_statuses s on s.memory_id = o.memory_id
          where o.challenge_id = r.id
        ),
        'refuted'
      )
    end
  )::memstore.admission_record
$$;

comment on function memstore.to_record(memstore.memory_admissions) is 'A record as the functions return it.';
