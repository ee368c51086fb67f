-- What: the type of a record as the functions return it gets the field effect: what a challenge does to its claim.
-- Why: which challenge suspends a claim, and why another does not, is a rule of the database's, which a reader of the
-- records had to guess.
-- Locks: none of a table. A table of an application's that has a column of the type memstore.admission_record stops it
-- (cannot alter type): change such a column to jsonb first. Views over list_records keep the columns they have.
-- Clients: earlier ones keep working.

alter type memstore.admission_record add attribute effect text;

comment on column memstore.admission_record.effect is
  'Of a challenge: in_effect, queued behind its author''s others, not_admitted (its claim is not), without_evidence or refuted.';

insert into memstore.deployment (name) values ('0008-challenge-effect');
