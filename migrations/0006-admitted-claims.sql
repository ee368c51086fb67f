-- What: what system recall reads: the live claims that are admitted, and how many of them have each word.
-- Why: recall counted the words of all claims in each turn; now they are counted when a status changes.
-- Locks: memories and the records, against writes, while the admitted claims are read once; the index of claims' words
-- on memories goes. Clients: earlier ones keep working.

lock table memstore.memories, memstore.memory_admissions in share row exclusive mode;

-- The projection of claim_statuses and memories: kept by triggers, written by nobody else.
create table memstore.admitted_claims (
  memory_id uuid not null,
  user_id uuid not null,
  language text not null,
  inserted_at timestamptz not null,
  search_vector tsvector not null,
  constraint admitted_claims_pkey primary key (memory_id)
);

insert into memstore.admitted_claims (memory_id, user_id, language, inserted_at, search_vector)
select m.id, m.user_id, m.language, m.inserted_at, m.search_vector
from memstore.claim_statuses s
join memstore.memories m on m.id = s.memory_id
where s.status = 'admitted'
and m.bucket = 'system'
and m.superseded_at is null
and not m.promoted;

-- A pending list would be read by every turn.
create index admitted_claims_words_idx on memstore.admitted_claims using gin (search_vector) with (fastupdate = off);
create index admitted_claims_newest_idx on memstore.admitted_claims (language, inserted_at desc, memory_id);

alter table memstore.admitted_claims alter column search_vector set statistics 0;

comment on table memstore.admitted_claims is 'The live claims whose status is admitted: what system recall reads.';
comment on column memstore.admitted_claims.memory_id is 'The claim.';
comment on column memstore.admitted_claims.user_id is 'The claim''s author.';
comment on column memstore.admitted_claims.language is 'The claim''s language.';
comment on column memstore.admitted_claims.inserted_at is 'When the claim was written.';
comment on column memstore.admitted_claims.search_vector is 'The claim''s words.';
comment on index memstore.admitted_claims_words_idx is 'Admitted claims by their words.';
comment on index memstore.admitted_claims_newest_idx is 'Admitted claims of a language, newest first.';

create table memstore.claim_languages (
  language text not null,
  claims bigint not null,
  constraint claim_languages_pkey primary key (language)
)
with (fillfactor = 50);

insert into memstore.claim_languages (language, claims)
select a.language, count(*)
from memstore.admitted_claims a
group by a.language;

comment on table memstore.claim_languages is 'How many admitted claims each language has.';
comment on column memstore.claim_languages.language is 'The language.';
comment on column memstore.claim_languages.claims is 'The number of claims, 1 or more.';

create table memstore.claim_words (
  language text not null,
  lexeme text not null,
  claims bigint not null,
  constraint claim_words_pkey primary key (language, lexeme)
)
with (fillfactor = 70);

insert into memstore.claim_words (language, lexeme, claims)
select a.language, w.lexeme, count(*)
from memstore.admitted_claims a
cross join unnest(pg_catalog.tsvector_to_array(a.search_vector)) w (lexeme)
group by a.language, w.lexeme;

alter table memstore.claim_words alter column lexeme set statistics 0;

comment on table memstore.claim_words is 'How many admitted claims of a language have each word.';
comment on column memstore.claim_words.language is 'The language.';
comment on column memstore.claim_words.lexeme is 'The word, as the text function folds it.';
comment on column memstore.claim_words.claims is 'The number of claims, 1 or more.';

-- Words are texts of others: whoever is granted SELECT reads none.
alter table memstore.admitted_claims enable row level security;
alter table memstore.claim_words enable row level security;

drop index memstore.memories_claim_words_idx;

insert into memstore.deployment (name) values ('0006-admitted-claims');
