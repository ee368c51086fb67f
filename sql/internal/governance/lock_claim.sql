-- Refuses an id that is no claim's, and keeps the claim from being deleted until the transaction ends (FOR KEY SHARE).
-- The caller has locked the acting account first.
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

comment on function memstore.lock_claim(uuid) is 'Refuses what is no claim, and locks the claim against deletion.';
