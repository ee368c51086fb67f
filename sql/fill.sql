-- Fills what a migration has made and left empty, and tells where the stored lexemes may be another version's. It loads
-- after the triggers, whose creation has locked the tables against writes until the transaction ends, so that it misses
-- nothing.
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
  -- A small store is checked at once, an empty one too.
  if memstore.words_are_current() then
    return;
  elsif (select count(*) from (select from memstore.memories limit 1001) m) <= 1000
    and (select count(*) from (select from memstore.items limit 1001) i) <= 1000
    and not exists (
      select
      from memstore.memories m
      left join memstore.admitted_claims a on a.memory_id = m.id
      where m.search_vector is distinct from array_to_tsvector(memstore.lexeme_set(m.language, m.body))
      or a.search_vector <> m.search_vector
    )
    and not exists (
      select
      from memstore.items i
      where i.indexed
      and i.search_vector is distinct from array_to_tsvector(memstore.lexeme_set(i.language, memstore.item_text(i.value)))
    )
  then
    perform memstore.record_words();
  else
    raise warning using
      message = 'The stored lexemes may be those of other dictionaries than this server''s.',
      hint = 'Rebuild them, while the application goes on: memstore rebuild-words, or memstore.rebuild_words().';
  end if;
end
$$;
