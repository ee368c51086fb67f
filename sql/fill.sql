-- Fills what a migration has made and left empty, and tells where the stored lexemes may be another version's. It loads
-- after the triggers, whose creation has locked the tables against writes until the transaction ends, so that it misses
-- nothing.
do $$
begin
  if not exists (select from memstore.claim_signs) then
    perform memstore.refresh_claim_signs(array(select a.memory_id from memstore.admitted_claims a));
  end if;
  if not exists (select from memstore.memories) then
    perform memstore.record_words();
  elsif not memstore.words_are_current() then
    raise warning using
      message = 'The stored lexemes may be those of other dictionaries than this server''s.',
      hint = 'Rebuild them, while the application goes on: memstore rebuild-words, or memstore.rebuild_words().';
  end if;
end
$$;
