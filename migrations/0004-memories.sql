-- What: the memories.
-- Why: each field has one named constraint, so that a refusal names the field and its rule. Checks don't
-- fail on NULL, and NOT NULL has no name before PostgreSQL 18, so presence is a part of the named check.
-- Locks: nothing that exists. Clients: there is no earlier one.

create table memstore.memories (
  id uuid not null default pg_catalog.gen_random_uuid(),
  user_id uuid,
  bucket text default 'user',
  body text,
  source_ref text,
  language text,
  embedding real[],
  embedding_model text,
  slug text,
  entity text,
  tier text,
  as_of date,
  admission text,
  evidence_refs jsonb,
  stance text,
  superseded_by_id uuid,
  superseded_at timestamptz,
  inserted_at timestamptz default pg_catalog.clock_timestamp(),
  updated_at timestamptz default pg_catalog.clock_timestamp(),
  -- A column, because a foreign key can reference one and not an expression.
  promoted boolean not null generated always as (stance is not null) stored,
  search_vector tsvector generated always as (pg_catalog.array_to_tsvector(memstore.lexemes(language, body))) stored,
  constraint memories_pkey primary key (id),
  constraint memories_user_id_fkey foreign key (user_id) references memstore.users (id),
  constraint memories_embedding_model_fkey foreign key (embedding_model) references memstore.embedding_models (name),
  constraint memories_superseded_by_id_fkey
    foreign key (superseded_by_id) references memstore.memories (id) on delete set null,
  constraint memories_user_id_shape check (user_id is not null),
  constraint memories_bucket_shape check (bucket is not null and bucket in ('user', 'learned', 'system')),
  constraint memories_body_shape check (
    body is not null
    and pg_catalog.char_length(body) <= 2000
    and memstore.trim_text(body) <> ''
    and (stance is null or pg_catalog.strpos(body, stance) > 0)
  ),
  constraint memories_source_ref_shape check (source_ref is null or pg_catalog.char_length(source_ref) between 1 and 200),
  constraint memories_language_shape check (language is not null and language = any (memstore.languages())),
  constraint memories_embedding_shape check (
    embedding_model is null and embedding is null
    or embedding is not null
    and pg_catalog.array_ndims(embedding) = 1
    and pg_catalog.cardinality(embedding) between 1 and 16000
    and pg_catalog.array_position(embedding, null) is null
    and 1e6::real >= all (embedding)
    and (-1e6)::real <= all (embedding)
    and (1e-6::real <= any (embedding) or (-1e-6)::real >= any (embedding))
  ),
  constraint memories_embedding_model_shape check (
    embedding_model is null and embedding is null
    or embedding_model is not null and pg_catalog.char_length(embedding_model) between 1 and 200
  ),
  constraint memories_slug_shape check (
    case bucket
      when 'system' then
        slug is not null
        and pg_catalog.char_length(slug) <= 200
        and pg_catalog.starts_with(slug, 'sys:')
        and memstore.trim_text(pg_catalog.substr(slug, 5)) <> ''
      else slug is null
    end
  ),
  constraint memories_entity_shape check (
    case bucket
      when 'system' then entity is null or pg_catalog.char_length(entity) between 1 and 200
      else entity is null
    end
  ),
  constraint memories_tier_shape check (
    case bucket
      when 'system' then tier is not null and tier in ('ledger', 'glass')
      else tier is null
    end
  ),
  constraint memories_as_of_shape check (
    case bucket
      when 'system' then as_of is not null and as_of between '0001-01-01'::date and '9999-12-31'::date
      else as_of is null
    end
  ),
  constraint memories_admission_shape check (
    case bucket
      when 'system' then admission is not null and admission in ('candidate', 'admitted', 'rejected')
      else admission is null
    end
  ),
  constraint memories_evidence_refs_shape check (
    case bucket
      when 'system' then memstore.evidence_is_valid(evidence_refs)
      else evidence_refs is null
    end
  ),
  constraint memories_stance_shape check (
    case bucket
      when 'system' then
        stance is null
        or pg_catalog.char_length(stance) between 1 and 200
        and stance operator(pg_catalog.~) '^[a-z0-9]+(-[a-z0-9]+)*$'
      else stance is null
    end
  ),
  constraint memories_superseded_at_shape check (
    superseded_at is null and superseded_by_id is null
    or superseded_at is not null and superseded_at >= inserted_at and superseded_at < '9999-12-31 00:00:00+00'
  ),
  constraint memories_inserted_at_shape check (
    inserted_at is not null and inserted_at >= '0001-01-02 00:00:00+00' and inserted_at < '9999-12-31 00:00:00+00'
  ),
  constraint memories_updated_at_shape check (
    updated_at is not null and updated_at >= '0001-01-02 00:00:00+00' and updated_at < '9999-12-31 00:00:00+00'
  )
);

-- Numbers don't compress, and unpacking them costs each comparison.
alter table memstore.memories alter column embedding set storage external;

-- Nothing of a text stays behind in the statistics once its memory is gone.
alter table memstore.memories
  alter column body set statistics 0,
  alter column source_ref set statistics 0,
  alter column embedding set statistics 0,
  alter column embedding_model set statistics 0,
  alter column slug set statistics 0,
  alter column entity set statistics 0,
  alter column evidence_refs set statistics 0,
  alter column stance set statistics 0,
  alter column search_vector set statistics 0;

-- An account's live memories, newest first: list_memories and recall.
create index memories_live_idx on memstore.memories (user_id, inserted_at desc, id desc) where superseded_at is null;
-- All of an account's memories: its history, its erasure, and the foreign key.
create index memories_user_id_idx on memstore.memories (user_id);
-- The predecessors of a row: history, deletion, and the foreign key.
create index memories_superseded_by_id_idx on memstore.memories (superseded_by_id) where superseded_by_id is not null;
-- Whether a model's name still has rows: the foreign key, and the removal of names.
create index memories_embedding_model_idx on memstore.memories (embedding_model) where embedding_model is not null;

comment on table memstore.memories is 'What an account asked to have remembered, what was learned on its behalf, and what the network has learned. The only copy.';
comment on column memstore.memories.id is 'The memory; a caller may give its own, to make a retry safe.';
comment on column memstore.memories.user_id is 'The account that it belongs to.';
comment on column memstore.memories.bucket is 'user: the account said so. learned: a job learned it. system: shared by the network.';
comment on column memstore.memories.body is 'The text, fixed for the life of the row.';
comment on column memstore.memories.source_ref is 'Which work taught it.';
comment on column memstore.memories.language is 'The text search configuration that reads the body.';
comment on column memstore.memories.embedding is 'The embedding of the body, from the caller.';
comment on column memstore.memories.embedding_model is 'The model that made the embedding.';
comment on column memstore.memories.slug is 'A claim''s name: sys: and something behind it.';
comment on column memstore.memories.entity is 'What a claim is about.';
comment on column memstore.memories.tier is 'A claim''s transparency: ledger or glass.';
comment on column memstore.memories.as_of is 'The date for which a claim holds.';
comment on column memstore.memories.admission is 'What a claim''s author says of its state. Nothing reads it to decide.';
comment on column memstore.memories.evidence_refs is 'A claim''s evidence: objects with kind, ref and digest.';
comment on column memstore.memories.stance is 'The reviewed position that a claim was promoted to; a row that has one is a tombstone.';
comment on column memstore.memories.superseded_by_id is 'The memory that replaced this one; NULL once that one is deleted.';
comment on column memstore.memories.superseded_at is 'When it was replaced; NULL while it is live.';
comment on column memstore.memories.inserted_at is 'When it was written; of a correction, also when the corrected row was superseded.';
comment on column memstore.memories.updated_at is 'When the row last changed: its embedding, or its replacement.';
comment on column memstore.memories.promoted is 'Whether it is a tombstone.';
comment on column memstore.memories.search_vector is 'The words of the body.';

comment on constraint memories_user_id_fkey on memstore.memories is 'A memory belongs to an account that exists.';
comment on constraint memories_embedding_model_fkey on memstore.memories is 'An embedding''s model is known.';
comment on constraint memories_superseded_by_id_fkey on memstore.memories is 'A replacement is a memory that exists.';
comment on constraint memories_user_id_shape on memstore.memories is 'A memory belongs to an account.';
comment on constraint memories_bucket_shape on memstore.memories is 'The bucket is user, learned or system.';
comment on constraint memories_body_shape on memstore.memories is 'The body has 1 to 2,000 characters and is not blank; a tombstone''s contains its stance.';
comment on constraint memories_source_ref_shape on memstore.memories is 'The source has 1 to 200 characters, or is absent.';
comment on constraint memories_language_shape on memstore.memories is 'The language is one of PostgreSQL''s text search configurations.';
comment on constraint memories_embedding_shape on memstore.memories is 'An embedding is a flat array of 1 to 16,000 numbers, none beyond 1e6 in magnitude and one of at least 1e-6, and comes with its model.';
comment on constraint memories_embedding_model_shape on memstore.memories is 'The embedding''s model has 1 to 200 characters, and comes with the embedding.';
comment on constraint memories_slug_shape on memstore.memories is 'A system memory needs a slug: sys: and something behind it, 200 characters at most; others have none.';
comment on constraint memories_entity_shape on memstore.memories is 'A system memory''s entity has 1 to 200 characters, or is absent; others have none.';
comment on constraint memories_tier_shape on memstore.memories is 'A system memory needs a tier, ledger or glass; others have none.';
comment on constraint memories_as_of_shape on memstore.memories is 'A system memory needs an as-of date, of the years 1 to 9999; others have none.';
comment on constraint memories_admission_shape on memstore.memories is 'A system memory needs an admission: candidate, admitted or rejected; others have none.';
comment on constraint memories_evidence_refs_shape on memstore.memories is 'A system memory needs evidence: 1 to 20 objects, each with a kind (receipt, memory or url), a ref of 1 to 2,000 characters and a digest of 1 to 200; others have none.';
comment on constraint memories_stance_shape on memstore.memories is 'A system memory''s stance has 1 to 200 characters, lowercase words joined by single hyphens, or is absent; others have none.';
comment on constraint memories_superseded_at_shape on memstore.memories is 'A replaced memory has the time of its replacement, not before its own.';
comment on constraint memories_inserted_at_shape on memstore.memories is 'A memory has the time of its writing, of the years 1 to 9999.';
comment on constraint memories_updated_at_shape on memstore.memories is 'A memory has the time of its last change, of the years 1 to 9999.';
comment on index memstore.memories_live_idx is 'An account''s live memories, newest first.';
comment on index memstore.memories_user_id_idx is 'All of an account''s memories.';
comment on index memstore.memories_superseded_by_id_idx is 'The rows that a memory replaced.';
comment on index memstore.memories_embedding_model_idx is 'The rows that have an embedding of a model.';

create type memstore.memory as (
  id uuid,
  user_id uuid,
  bucket text,
  body text,
  source_ref text,
  language text,
  embedding_model text,
  slug text,
  entity text,
  tier text,
  as_of date,
  admission text,
  evidence_refs jsonb,
  stance text,
  promoted boolean,
  superseded_by_id uuid,
  superseded_at timestamptz,
  inserted_at timestamptz,
  updated_at timestamptz
);

comment on type memstore.memory is 'A memory as the functions return it: the row without its embedding and its search vector.';

alter table memstore.memories enable row level security;

create policy memories_of_actor on memstore.memories
for select
using (user_id = nullif(pg_catalog.current_setting('memstore.actor', true), '')::uuid);

comment on policy memories_of_actor on memstore.memories is 'A reader sees the memories of the account in the setting memstore.actor.';

insert into memstore.deployment (name) values ('0004-memories');
