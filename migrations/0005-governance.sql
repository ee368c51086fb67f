-- What: the records on claims of the system bucket, and the projection of what they derive.
-- Why: a claim's status is what the records say of it; recall reads it by key.
-- Locks: memories, against reads and writes, while one unique and two partial indexes are built. Clients: earlier ones
-- keep working.

-- A record's target is a claim: its foreign key names all three.
alter table memstore.memories add constraint memories_claim_key unique (id, bucket, promoted);
comment on constraint memories_claim_key on memstore.memories is 'What a record''s foreign key names: a memory, its bucket, and whether it is a tombstone.';

-- Live claims by their words: system recall.
create index memories_claim_words_idx on memstore.memories using gin (search_vector)
where bucket = 'system' and superseded_at is null and not promoted;
-- Live claims, oldest first: a steward's queue.
create index memories_claim_queue_idx on memstore.memories (inserted_at, id)
where bucket = 'system' and superseded_at is null and not promoted;
comment on index memstore.memories_claim_words_idx is 'Live claims by their words.';
comment on index memstore.memories_claim_queue_idx is 'Live claims, oldest first.';

create table memstore.memory_admissions (
  id uuid not null default pg_catalog.gen_random_uuid(),
  memory_id uuid,
  user_id uuid,
  role text,
  verdict text,
  challenge_id uuid,
  ground text,
  evidence_refs jsonb,
  inserted_at timestamptz default pg_catalog.clock_timestamp(),
  slug text generated always as (
    case role
      when 'admission' then 'adm:' || memory_id::text
      when 'challenge' then 'chl:' || memory_id::text
      when 'refutation' then 'ref:' || challenge_id::text
    end
  ) stored,
  -- The literals of the foreign keys.
  memory_bucket text not null generated always as ('system') stored,
  memory_promoted boolean not null generated always as (false) stored,
  challenge_role text not null generated always as ('challenge') stored,
  constraint memory_admissions_pkey primary key (id),
  constraint memory_admissions_challenge_key unique (id, memory_id, role),
  constraint memory_admissions_user_id_fkey foreign key (user_id) references memstore.users (id),
  constraint memory_admissions_memory_id_fkey
    foreign key (memory_id, memory_bucket, memory_promoted)
    references memstore.memories (id, bucket, promoted) on delete cascade,
  constraint memory_admissions_challenge_id_fkey
    foreign key (challenge_id, memory_id, challenge_role)
    references memstore.memory_admissions (id, memory_id, role),
  constraint memory_admissions_memory_id_shape check (memory_id is not null),
  constraint memory_admissions_user_id_shape check (user_id is not null),
  constraint memory_admissions_role_shape check (role is not null and role in ('admission', 'challenge', 'refutation')),
  constraint memory_admissions_verdict_shape check (
    case role
      when 'admission' then verdict is not null and verdict in ('admitted', 'rejected')
      else verdict is null
    end
  ),
  constraint memory_admissions_challenge_id_shape check ((role = 'refutation') = (challenge_id is not null)),
  constraint memory_admissions_ground_shape check (
    ground is not null and pg_catalog.char_length(ground) <= 2000 and memstore.trim_text(ground) <> ''
  ),
  constraint memory_admissions_evidence_refs_shape check (
    evidence_refs is null or role = 'challenge' and memstore.evidence_is_valid(evidence_refs)
  ),
  constraint memory_admissions_inserted_at_shape check (
    inserted_at is not null and inserted_at >= '0001-01-02 00:00:00+00' and inserted_at < '9999-12-31 00:00:00+00'
  )
);

alter table memstore.memory_admissions
  alter column ground set statistics 0,
  alter column evidence_refs set statistics 0;

-- The records of a claim in their order: its verdict, its argument, and the foreign key.
create index memory_admissions_memory_id_idx on memstore.memory_admissions (memory_id, role, inserted_at desc, id desc);
-- The refutations of a challenge: the foreign key, and whether one is open.
create index memory_admissions_challenge_id_idx on memstore.memory_admissions (challenge_id) where challenge_id is not null;
-- An account's records: its erasure, and the foreign key.
create index memory_admissions_user_id_idx on memstore.memory_admissions (user_id);

comment on table memstore.memory_admissions is 'The records on claims: verdicts, challenges and refutations. Nothing is updated; the whole argument stays.';
comment on column memstore.memory_admissions.id is 'The record.';
comment on column memstore.memory_admissions.memory_id is 'The claim that it is about.';
comment on column memstore.memory_admissions.user_id is 'The account that wrote it.';
comment on column memstore.memory_admissions.role is 'admission: a steward''s verdict. challenge: an account says that the claim is wrong. refutation: a steward answers a challenge.';
comment on column memstore.memory_admissions.verdict is 'Of an admission: admitted or rejected.';
comment on column memstore.memory_admissions.challenge_id is 'Of a refutation: the challenge that it closes.';
comment on column memstore.memory_admissions.ground is 'Why.';
comment on column memstore.memory_admissions.evidence_refs is 'Of a challenge, if it has any: objects with kind, ref and digest. Only with evidence does it suspend.';
comment on column memstore.memory_admissions.inserted_at is 'When it was written; with the id, the order of records.';
comment on column memstore.memory_admissions.slug is 'What it is about, by name: adm:, chl: or ref: and an id.';
comment on column memstore.memory_admissions.memory_bucket is 'system: a literal for the foreign key.';
comment on column memstore.memory_admissions.memory_promoted is 'false: a literal for the foreign key.';
comment on column memstore.memory_admissions.challenge_role is 'challenge: a literal for the foreign key.';
comment on constraint memory_admissions_challenge_key on memstore.memory_admissions is 'What a refutation''s foreign key names: a record, its claim and its role.';
comment on constraint memory_admissions_user_id_fkey on memstore.memory_admissions is 'A record is by an account that exists.';
comment on constraint memory_admissions_memory_id_fkey on memstore.memory_admissions is 'A record is about a claim: a memory of the system bucket that is no tombstone.';
comment on constraint memory_admissions_challenge_id_fkey on memstore.memory_admissions is 'A refutation names a challenge of the same claim.';
comment on constraint memory_admissions_memory_id_shape on memstore.memory_admissions is 'A record is about a claim.';
comment on constraint memory_admissions_user_id_shape on memstore.memory_admissions is 'A record is by an account.';
comment on constraint memory_admissions_role_shape on memstore.memory_admissions is 'A record''s role is admission, challenge or refutation.';
comment on constraint memory_admissions_verdict_shape on memstore.memory_admissions is 'An admission needs a verdict, admitted or rejected; others have none.';
comment on constraint memory_admissions_challenge_id_shape on memstore.memory_admissions is 'A refutation needs a challenge; others have none.';
comment on constraint memory_admissions_ground_shape on memstore.memory_admissions is 'A record''s ground has 1 to 2,000 characters and is not blank.';
comment on constraint memory_admissions_evidence_refs_shape on memstore.memory_admissions is 'A challenge''s evidence is absent, or 1 to 20 objects, each with a kind (receipt, memory or url), a ref of 1 to 2,000 characters and a digest of 1 to 200; others have none.';
comment on constraint memory_admissions_inserted_at_shape on memstore.memory_admissions is 'A record has the time of its writing, of the years 1 to 9999.';
comment on index memstore.memory_admissions_memory_id_idx is 'The records of a claim in their order.';
comment on index memstore.memory_admissions_challenge_id_idx is 'The refutations of a challenge.';
comment on index memstore.memory_admissions_user_id_idx is 'An account''s records.';

create type memstore.admission_record as (
  id uuid,
  memory_id uuid,
  user_id uuid,
  role text,
  verdict text,
  challenge_id uuid,
  ground text,
  evidence_refs jsonb,
  slug text,
  inserted_at timestamptz
);

comment on type memstore.admission_record is 'A record as the functions return it.';

create type memstore.claim as (
  memory memstore.memory,
  status text,
  open_challenges bigint
);

comment on type memstore.claim is 'A claim with its derived status and the number of its open challenges.';

-- The projection of derive_statuses(): kept by triggers, written by nobody else.
create table memstore.claim_statuses (
  memory_id uuid not null,
  verdict text not null,
  status text not null,
  constraint claim_statuses_pkey primary key (memory_id)
);

comment on table memstore.claim_statuses is 'What the records say of each claim that has a verdict; a claim without a row is a candidate.';
comment on column memstore.claim_statuses.memory_id is 'The claim.';
comment on column memstore.claim_statuses.verdict is 'The latest admission''s: admitted or rejected.';
comment on column memstore.claim_statuses.status is 'admitted, rejected or suspended.';

create table memstore.open_challenges (
  challenge_id uuid not null,
  memory_id uuid not null,
  user_id uuid not null,
  inserted_at timestamptz not null,
  evidenced boolean not null,
  effective boolean not null default false,
  constraint open_challenges_pkey primary key (challenge_id)
);

create index open_challenges_memory_id_idx on memstore.open_challenges (memory_id);
create index open_challenges_user_id_idx on memstore.open_challenges (user_id);

comment on table memstore.open_challenges is 'The challenges that no refutation has closed, and which of them suspend their claims.';
comment on column memstore.open_challenges.challenge_id is 'The challenge.';
comment on column memstore.open_challenges.memory_id is 'The claim.';
comment on column memstore.open_challenges.user_id is 'The challenger.';
comment on column memstore.open_challenges.inserted_at is 'When it was written.';
comment on column memstore.open_challenges.evidenced is 'Whether it has evidence.';
comment on column memstore.open_challenges.effective is 'Whether it suspends its claim: evidenced, of an admitted claim, and within its author''s share.';
comment on index memstore.open_challenges_memory_id_idx is 'The open challenges of a claim.';
comment on index memstore.open_challenges_user_id_idx is 'The open challenges of an account.';

create table memstore.claim_counter (
  singleton boolean not null default true,
  admitted bigint not null default 0,
  changes bigint not null default 0,
  constraint claim_counter_pkey primary key (singleton),
  constraint claim_counter_singleton_shape check (singleton)
)
with (fillfactor = 10);

insert into memstore.claim_counter default values;

comment on table memstore.claim_counter is 'One row, which whoever changes a status updates first: so they take turns, and a stale snapshot gets 40001.';
comment on column memstore.claim_counter.singleton is 'True: there is one row.';
comment on column memstore.claim_counter.admitted is 'How many claims have the verdict admitted, superseded ones included.';
comment on column memstore.claim_counter.changes is 'How often the row was updated.';
comment on constraint claim_counter_singleton_shape on memstore.claim_counter is 'There is one counter.';

alter table memstore.memory_admissions enable row level security;

create policy memory_admissions_of_actor on memstore.memory_admissions
for select
using (user_id = nullif(pg_catalog.current_setting('memstore.actor', true), '')::uuid);

comment on policy memory_admissions_of_actor on memstore.memory_admissions is 'A reader sees the records by the account in the setting memstore.actor.';

insert into memstore.deployment (name) values ('0005-governance');
