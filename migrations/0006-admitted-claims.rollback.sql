select memstore.drop_code();
delete from memstore.deployment where name = '0006-admitted-claims';
create index memories_claim_words_idx on memstore.memories using gin (search_vector)
where bucket = 'system' and superseded_at is null and not promoted;
comment on index memstore.memories_claim_words_idx is 'Live claims by their words.';
drop table memstore.claim_words;
drop table memstore.claim_languages;
drop table memstore.admitted_claims;
