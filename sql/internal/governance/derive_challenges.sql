-- Defines which challenges are open and which of them suspend their claims: the rules 3 to 6 of derive_statuses(),
-- over the records alone. The table open_challenges is its projection; this reads all records, and is for
-- verification.
create or replace function memstore.derive_challenges()
returns table (
  challenge_id uuid,
  memory_id uuid,
  user_id uuid,
  inserted_at timestamptz,
  evidenced boolean,
  effective boolean
)
language sql
stable
security invoker
as $$
  with verdicts as materialized (
    select v.memory_id, v.verdict
    from memstore.derive_verdicts() v
  ),
  challenges as (
    select c.id, c.memory_id, c.user_id, c.inserted_at, c.evidence_refs is not null as evidenced
    from memstore.memory_admissions c
    where c.role = 'challenge'
    and not exists (select from memstore.memory_admissions r where r.challenge_id = c.id)
  ),
  counted as (
    select distinct on (c.user_id, c.memory_id) c.id, c.user_id, c.inserted_at
    from challenges c
    join verdicts v on v.memory_id = c.memory_id and v.verdict = 'admitted'
    where c.evidenced
    order by c.user_id, c.memory_id, c.inserted_at, c.id
  ),
  queued as (
    select c.id, row_number() over (partition by c.user_id order by c.inserted_at, c.id) as position
    from counted c
  )
  select
    c.id,
    c.memory_id,
    c.user_id,
    c.inserted_at,
    c.evidenced,
    coalesce(q.position <= (select ceil(count(*) / 4.0) from verdicts v where v.verdict = 'admitted'), false)
  from challenges c
  left join queued q on q.id = c.id
$$;

comment on function memstore.derive_challenges() is
  'The open challenges, derived from the records alone: the definition.';
