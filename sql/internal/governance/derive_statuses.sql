-- Defines a claim's status by rules over the set of records alone. The table claim_statuses is its projection, which
-- recall reads; verify_store() and the tests compare the two.
--   1. The verdict is the latest admission's; without one the claim is a candidate.
--   2. Only an admitted claim can be suspended; a challenge to another uses up nothing of its author's share.
--   3. An open challenge with evidence suspends.
--   4., 5. A refutation closes the challenge that it names, and nothing else closes one.
--   6. The challenges of one account suspend at most a quarter, rounded up, of the admitted claims: the earliest ones;
--     several against one claim count once, dated by the earliest.
create or replace function memstore.derive_statuses()
returns table (memory_id uuid, status text)
language sql
stable
security invoker
as $$
  with suspended as (
    select distinct c.memory_id
    from memstore.derive_challenges() c
    where c.effective
  )
  select
    m.id,
    case
      when s.memory_id is not null then 'suspended'
      else coalesce(v.verdict, 'candidate')
    end
  from memstore.memories m
  left join memstore.derive_verdicts() v on v.memory_id = m.id
  left join suspended s on s.memory_id = m.id
  where m.bucket = 'system'
  and not m.promoted
$$;

comment on function memstore.derive_statuses() is
  'The status of every claim, derived from the records alone: the definition.';
