select memstore.drop_code();
delete from memstore.deployment where name = '0008-challenge-effect';
alter type memstore.admission_record drop attribute effect;

comment on column memstore.claim.memory is null;
comment on column memstore.claim.status is null;
comment on column memstore.claim.open_challenges is null;
comment on table memstore.claim_counter is
  'One row, which whoever changes a status updates first: so they take turns, and a stale snapshot gets 40001.';
comment on column memstore.settings.previous_share is
  'By how much a word counts for the memory after the one that has it, of the same source, 0 to 1.';
comment on column memstore.settings.next_share is
  'By how much a word counts for the memory before the one that has it, of the same source, 0 to 1.';
comment on column memstore.settings.maximum_system_pool is
  'How many claims of the system bucket are ranked for one turn.';
comment on column memstore.embedding_models.registered is
  'Whether the operator registered it. A name that is not registered goes with its last embedding.';
comment on column memstore.memories.search_vector is 'The words of the body.';
comment on column memstore.admitted_claims.search_vector is 'The claim''s words.';
comment on index memstore.admitted_claims_words_idx is 'Admitted claims by their words.';
comment on table memstore.claim_words is 'How many admitted claims of a language have each word.';
comment on column memstore.claim_words.lexeme is 'The word, as the text function folds it.';
comment on function memstore.lexemes(text, text) is
  'The distinct words of a text, folded and stemmed for a language, in the order of their first place.';
comment on function memstore.drop_code() is
  'Takes down all that sql/ creates, so that a migration can be rolled back. The next migrate loads it again.';
