-- Fills what a migration has made and left empty. It loads after the triggers, whose creation has locked the tables
-- against writes until the transaction ends, so that it misses nothing.
do $$
begin
  update memstore.users u
  set has_twins = u.id in (
    select m.user_id
    from memstore.memories m
    where m.superseded_at is null
    and m.bucket in ('user', 'learned')
    group by m.user_id, hashtextextended(m.body, 0)
    having count(*) > 1
  )
  where u.has_twins is null;

  if not exists (select from memstore.claim_signs) then
    perform memstore.refresh_claim_signs(array(select a.memory_id from memstore.admitted_claims a));
  end if;
end
$$;
