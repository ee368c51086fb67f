-- Defines a claim's verdict, rule 1 of derive_statuses(): the latest admission's. A claim without one has no row.
create or replace function memstore.derive_verdicts()
returns table (memory_id uuid, verdict text)
language sql
stable
security invoker
as $$
  select distinct on (r.memory_id) r.memory_id, r.verdict
  from memstore.memory_admissions r
  where r.role = 'admission'
  order by r.memory_id, r.inserted_at desc, r.id desc
$$;

comment on function memstore.derive_verdicts() is
  'The verdict on each claim that has one, derived from the records alone.';
