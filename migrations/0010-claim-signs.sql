-- What: the signs of the admitted claims' embeddings, one bit a number, in a narrow table of their own.
-- Why: hybrid recall compared the query's embedding with every admitted claim's; now it reads their signs, and compares
-- the nearest exactly.
-- Locks: nothing that exists. The code layer fills the table when it loads, so that no write between the two is missed:
-- see sql/fill.sql. Clients: earlier ones keep working.

-- The projection of admitted_claims and memories: kept by triggers, written by nobody else. The signs come first, since
-- each turn reads those of all rows, and of few rows the rest.
create table memstore.claim_signs (
  signs bit varying not null,
  embedding_model text not null,
  memory_id uuid not null,
  user_id uuid not null,
  inserted_at timestamptz not null,
  constraint claim_signs_pkey primary key (memory_id)
);

alter table memstore.claim_signs
  alter column signs set statistics 0,
  alter column embedding_model set statistics 0;

comment on table memstore.claim_signs is 'The signs of the admitted claims'' embeddings: what system recall by meaning reads first.';
comment on column memstore.claim_signs.signs is 'Of each number of the embedding, whether it is above 0.';
comment on column memstore.claim_signs.embedding_model is 'The model that made the embedding.';
comment on column memstore.claim_signs.memory_id is 'The claim.';
comment on column memstore.claim_signs.user_id is 'The claim''s author.';
comment on column memstore.claim_signs.inserted_at is 'When the claim was written.';

-- They tell what claims are about: whoever is granted SELECT reads none.
alter table memstore.claim_signs enable row level security;

insert into memstore.deployment (name) values ('0010-claim-signs');
