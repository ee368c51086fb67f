-- Fills what a migration has made and left empty. It loads after the triggers, whose creation has locked the tables
-- against writes until the transaction ends, so that it misses nothing.
do $$
begin
  if not exists (select from memstore.claim_signs) then
    perform memstore.refresh_claim_signs(array(select a.memory_id from memstore.admitted_claims a));
  end if;
end
$$;
