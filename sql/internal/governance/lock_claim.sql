-- Refuses what is no claim, locked against its deletion until the transaction ends.
create or replace function memstore.lock_claim(memory_id uuid)
returns void
language plpgsql
volatile
security invoker
as $$
begin
  perform 1
  from memstore.memories m
  where m.id = lock_claim.memory_id
  and m.bucket = 'system'
  and not m.promoted
  for key share;
  if not found then
    perform memstore.refuse('record_target_not_found', 'memory_id');
  end if;
end
$$;

comment on function memstore.lock_claim(uuid) is 'Refuses what is no claim.';
