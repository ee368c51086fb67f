-- What: the type of a record as the functions return it gets the field effect: what a challenge does to its claim; and
-- comments of tables, columns and functions say in PostgreSQL's terms what they said in others.
-- Why: which challenge suspends a claim, and why another does not, is a rule of the database's, which a reader of the
-- records had to guess. The comments are read where the tables are looked up.
-- Locks: the commented tables, against migrations and VACUUM alone, and only for the moment. A table of an application's
-- that has a column of the type memstore.admission_record stops it (cannot alter type): change such a column to jsonb
-- first. Views over list_records keep the columns they have.
-- Clients: earlier ones keep working.

alter type memstore.admission_record add attribute effect text;

-- Until the code layer loads, the functions of the version before return the type with the field, too.
do $$
begin
  if pg_catalog.to_regprocedure('memstore.to_record(memstore.memory_admissions)') is not null then
    create or replace function memstore.to_record(r memstore.memory_admissions)
    returns memstore.admission_record
    language sql
    immutable parallel safe
    security invoker
    as $f$
      select row(
        r.id, r.memory_id, r.user_id, r.role, r.verdict, r.challenge_id, r.ground, r.evidence_refs, r.slug,
        r.inserted_at, null
      )::memstore.admission_record
    $f$;
  end if;
end
$$;

comment on column memstore.admission_record.effect is
  'Of a challenge: in_effect, queued behind its author''s others, not_admitted as its claim is, without_evidence or refuted.';

comment on column memstore.claim.memory is 'The claim.';
comment on column memstore.claim.status is 'candidate, admitted, rejected or suspended.';
comment on column memstore.claim.open_challenges is 'How many of its challenges are open.';
comment on table memstore.claim_counter is
  'One row, which every transaction that changes a status updates first: this serialises them, and a stale snapshot fails with 40001.';
comment on column memstore.settings.previous_share is
  'How much a lexeme of a query counts, 0 to 1, that only the previous memory of the same source has.';
comment on column memstore.settings.next_share is
  'How much a lexeme of a query counts, 0 to 1, that only the next memory of the same source has.';
comment on column memstore.settings.maximum_system_pool is
  'How many claims rank_claims returns for one query, at most.';
comment on column memstore.embedding_models.registered is
  'Whether the operator registered it. An unregistered name is deleted with its last embedding.';
comment on column memstore.memories.search_vector is 'The lexemes of the body.';
comment on column memstore.admitted_claims.search_vector is 'The claim''s lexemes.';
comment on index memstore.admitted_claims_words_idx is 'Admitted claims by their lexemes.';
comment on table memstore.claim_words is 'How many admitted claims of a language have each lexeme.';
comment on column memstore.claim_words.lexeme is 'The lexeme, as memstore.lexemes() returns it.';
comment on function memstore.lexemes(text, text) is
  'The distinct lexemes of a text, folded and stemmed for a language, in the order of their first occurrence.';
comment on function memstore.drop_code() is
  'Drops all that sql/ creates, so that a migration can be rolled back. The next migrate loads it again.';

insert into memstore.deployment (name) values ('0008-challenge-effect');
