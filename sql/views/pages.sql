-- What help() shows, from the headers of sql/functions. Written by: python -m memstore.schema
create or replace view memstore.pages
with (security_invoker = true)
as
select p.position, p.area, p.name, p.summary, p.page
from (
  values
    (0, 'The schema', 'help', 'the page of a function, or what an error means.',
'help: the page of a function, or what an error means.

Call
  memstore.help(topic text default null)
  returns setof text
  stable

Example
  select memstore.help(''find_user'') limit 1;
Result
  find_user: the account that has an application''s own id.

Without a topic: the list of the functions. With an error''s name: its rule, what to do, and the functions that name
it. With any other word: the functions whose pages have it.

Arguments
  topic  text  a function''s name, an error''s name, or a word; the list where left out
Returns
  the page, one line a row
Errors
  argument_invalid (nothing has this word)'),
    (1, 'The schema', 'schema_version', 'the number of the newest migration that these functions were written for.',
'schema_version: the number of the newest migration that these functions were written for.

Call
  memstore.schema_version()
  returns integer
  immutable

Example
  select memstore.schema_version() >= 7;
Result
  t

A client that needs a newer one says so.

Returns
  the number
Errors
  none'),
    (2, 'Accounts', 'create_user', 'an account to remember things for.',
'create_user: an account to remember things for.

Call
  memstore.create_user(
    id uuid default null,
    external_ref text default null,
    language text default ''english''
  )
  returns uuid

Example
  select memstore.create_user(external_ref => ''account-2'') = memstore.create_user(external_ref => ''account-2'');
Result
  t

Creates the account, or returns the one that has this external_ref: a call is safe to repeat. Without an
external_ref, an id makes it safe; without both, every call creates another account.

Arguments
  id            uuid     the account''s id; chosen by the database where it is left out
  external_ref  text     the application''s own id, 1 to 200 characters, compared exactly
  language      text     how the account''s memories are read: a text search configuration; ''english''
Returns
  the account''s id
Errors
  id_taken (the id has another external_ref, or the external_ref another id); actor_unknown (the id was
  erased); users_external_ref_shape, users_language_shape'),
    (3, 'Accounts', 'delete_user', 'erases an account.',
'delete_user: erases an account.

Call
  memstore.delete_user(actor uuid)
  returns bigint

Example
  select memstore.delete_user(memstore.find_user(''account-1''));
Result
  1

Deletes all memories of the account, live and superseded, of every bucket, with the records on its claims, and the
account. Rows of other accounts that one of them had replaced stay superseded, and point at what it had been replaced
by, or at nothing. Records that the account wrote on others'' claims stay, without their texts, so that no status
changes; the account''s row then stays as a bare id, which can do nothing.

Arguments
  actor  uuid  the account
Returns
  how many memories went
Errors
  actor_unknown'),
    (4, 'Accounts', 'find_user', 'the account that has an application''s own id.',
'find_user: the account that has an application''s own id.

Call
  memstore.find_user(external_ref text)
  returns uuid
  stable

Example
  select memstore.find_user(''no such account'') is null;
Result
  t

Arguments
  external_ref  text  the application''s own id, compared exactly
Returns
  the account''s id, or NULL where no account has it
Errors
  none'),
    (5, 'Memories', 'delete_memory', 'forgets a memory.',
'delete_memory: forgets a memory.

Call
  memstore.delete_memory(actor uuid, id uuid)
  returns memstore.memory

Example
  select body from memstore.delete_memory(
    memstore.find_user(''account-1''),
    ''00000000-0000-4000-8000-000000000001''
  );
Result
  I use pnpm, not npm.

The row is gone. What it had replaced stays superseded, and points at what the row itself was replaced by, or at
nothing.

Arguments
  actor  uuid  the account
  id     uuid  the memory, live or superseded
Returns
  the memory as it was
Errors
  actor_unknown; memory_not_found (also for another account''s)'),
    (6, 'Memories', 'export_account', 'what an export of an account begins with.',
'export_account: what an export of an account begins with.

Call
  memstore.export_account(actor uuid)
  returns jsonb
  stable

Example
  select memstore.export_account(memstore.find_user(''account-1''));
Result
  {"export": 1, "language": "english", "memories": 1, "live_memories": 1}

The first line of a file whose other lines are those of export_memories: with the number of memories, whoever reads the
file sees whether it was cut. It names no account, since a file must not say whose memories it makes. The ceiling and
the mark of a steward are the operator''s, and stay with the store.

Arguments
  actor  uuid  the account
Returns
  an object: export, the version of the format; language, the account''s; memories, how many export_memories gives;
  live_memories, how many of them count towards a ceiling
Errors
  actor_unknown'),
    (7, 'Memories', 'export_memories', 'all that an account owns, as import_memories takes it.',
'export_memories: all that an account owns, as import_memories takes it.

Call
  memstore.export_memories(actor uuid, page_size integer default 1000, after uuid default null)
  returns setof jsonb
  stable

Example
  select e ->> ''bucket'', e ->> ''body'' from memstore.export_memories(memstore.find_user(''account-1'')) e;
Result
  user|I use pnpm, not npm.

Every memory of the account, in every bucket, with embedding, times and history: what was replaced, and tombstones, too.
Each comes behind what replaced it, so that any first part of an export can be imported. Read all pages in one REPEATABLE
READ transaction, and they are of one moment. import_memories gives the same rows in another database, and an export of
those is the same text. (One difference could be made out: an embedding''s negative zero comes back as zero.)

Where another account''s claim replaced one of this account, the export has the time of it and no pointer, as if that
claim had been deleted: it is not the account''s to take along. Records on claims stay in this store. A verdict is by its
stewards, and a challenge is a part of its argument; list_records shows them. So an imported claim is a candidate.

Arguments
  actor      uuid     the account
  page_size  integer  1 to 10,000 memories; 1,000
  after      uuid     the id of the last memory of the page before
Returns
  objects with the keys of import_memories, those that are NULL left out; live memories first, then what was replaced
  last; newest first among these
Errors
  actor_unknown; argument_invalid (page_size); memory_not_found (after)'),
    (8, 'Memories', 'get_memory', 'one memory by its id.',
'get_memory: one memory by its id.

Call
  memstore.get_memory(actor uuid, id uuid)
  returns memstore.memory
  stable

Example
  select bucket, body from memstore.get_memory(
    memstore.find_user(''account-1''),
    ''00000000-0000-4000-8000-000000000001''
  );
Result
  user|I use pnpm, not npm.

Arguments
  actor  uuid  the account
  id     uuid  the memory, live or superseded
Returns
  the memory
Errors
  actor_unknown; memory_not_found (also for another account''s)'),
    (9, 'Memories', 'insert_memories', 'remembers many things at once, all of them or none.',
'insert_memories: remembers many things at once, all of them or none.

Call
  memstore.insert_memories(actor uuid, memories jsonb)
  returns setof memstore.memory

Example
  select body from memstore.insert_memories(
    memstore.find_user(''account-1''),
    ''[{"body": "Deploys happen on Tuesdays."}, {"body": "CI runs on two cores.", "bucket": "learned"}]''
  );
Result
  Deploys happen on Tuesdays.
  CI runs on two cores.

Arguments
  actor     uuid   the account whose memories they are
  memories  jsonb  an array of up to 10,000 objects; their keys are the arguments of insert_memory but for
                   actor, embeddings are arrays of numbers, dates are texts such as 2026-08-25
Returns
  the memories, in the order of the items; their times rise in it too
Errors
  as insert_memory, and argument_invalid for what is no such array (an unknown key, a value of another type); the
  message says which item'),
    (10, 'Memories', 'insert_memory', 'remembers one thing.',
'insert_memory: remembers one thing.

Call
  memstore.insert_memory(
    actor uuid,
    body text,
    bucket text default ''user'',
    source_ref text default null,
    embedding real[] default null,
    embedding_model text default null,
    slug text default null,
    entity text default null,
    tier text default null,
    as_of date default null,
    admission text default null,
    evidence_refs jsonb default null,
    language text default null,
    id uuid default null
  )
  returns memstore.memory

Example
  select body from memstore.insert_memory(memstore.find_user(''account-1''), ''Deploys happen on Tuesdays.'');
Result
  Deploys happen on Tuesdays.

Texts are trimmed of white space; of optional ones an empty text is an absent one. A caller-given id makes a
retry safe: the same id, account and content again returns the row already there.

Arguments
  actor            uuid    the account whose memory it is
  body             text    1 to 2,000 characters
  bucket           text    user (the account said so), learned (a job learned it), system (shared); ''user''
  source_ref       text    which work taught it, 1 to 200 characters
  embedding        real[]  1 to 16,000 numbers, none beyond 1e6 in magnitude and one of at least 1e-6
  embedding_model  text    its model, 1 to 200 characters; one model has one number of dimensions
  slug             text    system only: sys: and something behind it, 200 characters at most
  entity           text    system only: what the claim is about, 1 to 200 characters
  tier             text    system only: ledger or glass
  as_of            date    system only: the date for which the claim holds
  admission        text    system only: candidate, admitted or rejected, as the author sees it
  evidence_refs    jsonb   system only: 1 to 20 objects with kind (receipt, memory, url), ref (2,000 characters)
                           and digest (200 characters)
  language         text    how the body is read, a text search configuration; the account''s where left out
  id               uuid    the memory''s id; chosen by the database where it is left out
Returns
  the memory
Errors
  actor_unknown, quota_reached, id_taken, embedding_dimensions_differ; the names of the rules (list_rules)'),
    (11, 'Memories', 'list_memories', 'the account''s memories, newest first.',
'list_memories: the account''s memories, newest first.

Call
  memstore.list_memories(
    actor uuid,
    bucket text default null,
    include_superseded boolean default false,
    page_size integer default 200,
    after uuid default null
  )
  returns setof memstore.memory
  stable

Example
  select body from memstore.list_memories(memstore.find_user(''account-1''));
Result
  I use pnpm, not npm.

Arguments
  actor               uuid     the account
  bucket              text     user, learned or system; all of them where left out
  include_superseded  boolean  whether to list the replaced ones too; false
  page_size           integer  1 to 200 memories; 200
  after               uuid     the id of the last memory of the page before
Returns
  memories, by inserted_at and id, both descending
Errors
  actor_unknown; argument_invalid (bucket, page_size); memory_not_found (after)'),
    (12, 'Memories', 'list_rules', 'the rules of a memory, as the database holds them.',
'list_rules: the rules of a memory, as the database holds them.

Call
  memstore.list_rules()
  returns table (name text, field text, definition text, message text)
  stable

Example
  select message from memstore.list_rules() where name = ''memories_source_ref_shape'';
Result
  The source has 1 to 200 characters, or is absent.

Returns
  of each rule its name, the field, its definition in SQL, and the message of a refusal, in the order of the fields
Errors
  none'),
    (13, 'Memories', 'memories_as_of', 'what the account''s memory held at a past moment.',
'memories_as_of: what the account''s memory held at a past moment.

Call
  memstore.memories_as_of(actor uuid, moment timestamptz)
  returns setof memstore.memory
  stable

Example
  select body from memstore.memories_as_of(memstore.find_user(''account-1''), clock_timestamp());
Result
  I use pnpm, not npm.

What was deleted since is gone from the past too.

Arguments
  actor   uuid         the account
  moment  timestamptz  the moment
Returns
  the memories that were live then, newest first
Errors
  actor_unknown; argument_invalid (no moment)'),
    (14, 'Memories', 'memory_history', 'the whole chain of a memory.',
'memory_history: the whole chain of a memory.

Call
  memstore.memory_history(actor uuid, id uuid)
  returns setof memstore.memory
  stable

Example
  select memstore.supersede_memory(
    memstore.find_user(''account-1''),
    ''00000000-0000-4000-8000-000000000001'',
    ''I use pnpm 9, not npm.''
  );
  select body, superseded_at is null as live
  from memstore.memory_history(memstore.find_user(''account-1''), ''00000000-0000-4000-8000-000000000001'');
Result
  I use pnpm, not npm.|f
  I use pnpm 9, not npm.|t

The memory, all that it replaced, directly or not, what it was replaced by, and all that this replaced. The chain
of a claim goes across accounts; its author may read it, and every steward.

Arguments
  actor  uuid  the account
  id     uuid  any memory of the chain that is the account''s own (or a claim, for a steward)
Returns
  memories, oldest first
Errors
  actor_unknown; memory_not_found (also for another account''s)'),
    (15, 'Memories', 'memory_violations', 'every rule that a memory would break.',
'memory_violations: every rule that a memory would break.

Call
  memstore.memory_violations(memory jsonb)
  returns table (name text, field text, message text)

Example
  select name, field from memstore.memory_violations(''{"body": " ", "bucket": "user", "tier": "gold"}'');
Result
  memories_body_shape|body
  memories_tier_shape|tier

For forms and previews: it writes nothing and reads no account, so it says nothing of ceilings and ids.

Arguments
  memory  jsonb  an object as insert_memories takes them
Returns
  name, field and message of each broken rule, in the order of the fields; none for a memory that is in order
Errors
  argument_invalid (no such object)'),
    (16, 'Memories', 'set_embedding', 'gives a memory an embedding, or takes it away.',
'set_embedding: gives a memory an embedding, or takes it away.

Call
  memstore.set_embedding(actor uuid, id uuid, embedding real[], embedding_model text)
  returns memstore.memory

Example
  select embedding_model from memstore.set_embedding(
    memstore.find_user(''account-1''),
    ''00000000-0000-4000-8000-000000000001'',
    ''{0.6, 0.8}'',
    ''two-numbers''
  );
Result
  two-numbers

Arguments
  actor            uuid    the account
  id               uuid    the memory, live or superseded
  embedding        real[]  as in insert_memory; NULL, with a NULL model, takes it away
  embedding_model  text    its model
Returns
  the memory
Errors
  actor_unknown, memory_not_found, embedding_dimensions_differ; memories_embedding_shape,
  memories_embedding_model_shape'),
    (17, 'Memories', 'supersede_memory', 'corrects a memory.',
'supersede_memory: corrects a memory.

Call
  memstore.supersede_memory(
    actor uuid,
    target uuid,
    body text,
    bucket text default null,
    source_ref text default null,
    embedding real[] default null,
    embedding_model text default null,
    entity text default null,
    tier text default null,
    as_of date default null,
    admission text default null,
    evidence_refs jsonb default null,
    language text default null,
    id uuid default null
  )
  returns memstore.memory

Example
  select body from memstore.supersede_memory(
    memstore.find_user(''account-1''),
    ''00000000-0000-4000-8000-000000000001'',
    ''I use pnpm 9, not npm.''
  );
Result
  I use pnpm 9, not npm.

Writes the replacement and points the old row at it, in one step; the old row stays. What is left out (NULL)
of source_ref, language, entity and tier comes from the target; an empty text clears it (of the language: the
account''s). A claim keeps its slug, its as_of is today and its admission candidate unless given. Nothing moves
into or out of the system bucket. A steward may correct another account''s claim; the replacement is the
steward''s, and every open challenge of the claim is answered. A repeated call with the same id and content returns the row already there.

Arguments
  actor            uuid    the account that corrects
  target           uuid    the memory to correct: live, and the account''s own (or a claim, for a steward)
  body             text    1 to 2,000 characters
  bucket           text    user, learned or system; the target''s where left out
  source_ref       text    as in insert_memory, as are all below
  embedding        real[]  the replacement''s; the target''s stays with it
  embedding_model  text    its model
  entity           text    system only
  tier             text    system only
  as_of            date    system only; today where left out
  admission        text    system only; candidate where left out
  evidence_refs    jsonb   system only
  language         text    how the body is read
  id               uuid    the replacement''s id
Returns
  the replacement
Errors
  actor_unknown; not_supersedable (one answer for a foreign, a superseded and an unknown id); id_taken,
  quota_reached (a steward''s correction of another''s claim), embedding_dimensions_differ; the names of the rules'),
    (18, 'Memories', 'supersede_with', 'replaces a memory by another one that is already there.',
'supersede_with: replaces a memory by another one that is already there.

Call
  memstore.supersede_with(actor uuid, target uuid, replacement uuid)
  returns memstore.memory

Example
  select superseded_by_id from memstore.supersede_with(
    memstore.find_user(''account-1''),
    ''00000000-0000-4000-8000-000000000001'',
    (memstore.insert_memory(
      memstore.find_user(''account-1''),
      ''I use pnpm.'',
      id => ''00000000-0000-4000-8000-000000000002''
    )).id
  );
Result
  00000000-0000-4000-8000-000000000002

Several memories may be replaced by the same one: a merge.

Arguments
  actor        uuid  the account
  target       uuid  the memory to replace: live, the account''s own, of the bucket user or learned
  replacement  uuid  the memory that replaces it: the same, and another one
Returns
  the replaced memory
Errors
  actor_unknown; not_supersedable (one answer for whatever is wrong with either)'),
    (19, 'Recall', 'rank_claims', 'the claims of the system bucket that are about a turn.',
'rank_claims: the claims of the system bucket that are about a turn.

Call
  memstore.rank_claims(
    actor uuid,
    query text,
    embedding real[] default null,
    embedding_model text default null
  )
  returns table (
    memory memstore.memory,
    score double precision,
    lexical_score double precision,
    semantic_score double precision,
    eligible boolean
  )
  stable

Example
  select memstore.configure(system_recall_enabled => true);
  select (memory).slug, score from memstore.rank_claims(memstore.find_user(''account-1''), ''Is pnpm faster?'');
Result
  sys:pnpm|1

The one read that crosses accounts; it gives nothing unless the operator has turned it on (configure). Eligible are
live claims whose derived status is admitted, with a lexical or a semantic score above its floor; the scores are those
of rank_memories (without neighbours), n and df counted over the admitted live claims. Of them come as many as
maximum_system_pool, none of an account beyond a quarter of that, rounded up: accounts take turns in the order of their
best claim.

By its words a turn considers at most 20 times as many claims as the pool has places, however many there are: those of
its rarest words. Words are taken from the rarest on, each with all the claims that have it, while these together
still have room; of the first word whose claims have not, the newest that have. Every word of the turn counts in the
score of each.

Arguments
  actor            uuid    any account
  query            text    the turn, as in rank_memories
  embedding        real[]  the turn''s embedding
  embedding_model  text    its model
Returns
  as rank_memories, in the order of the turns taken; all of them eligible
Errors
  actor_unknown'),
    (20, 'Recall', 'rank_memories', 'how well each memory of the account fits a turn.',
'rank_memories: how well each memory of the account fits a turn.

Call
  memstore.rank_memories(
    actor uuid,
    query text,
    embedding real[] default null,
    embedding_model text default null
  )
  returns table (
    memory memstore.memory,
    score double precision,
    lexical_score double precision,
    semantic_score double precision,
    eligible boolean
  )
  stable

Example
  select (memory).body, score, eligible
  from memstore.rank_memories(memstore.find_user(''account-1''), ''npm or pnpm?'');
Result
  I use pnpm, not npm.|1|t

The candidates are the account''s live memories of the buckets user and learned. The lexical score is the share of
the turn that a memory covers: each word of the turn weighs ln(1 + (n - df + 0.5) / (df + 0.5)), where n counts the
candidates of the memory''s language and df those of them that have the word; the score is the weight of the words
that the memory has over the weight of all. Of the turn count its first 512 characters, and the first 64
different words in them. A word that only the memory before (after) in the same source_ref has counts by
previous_share (next_share). The semantic score is the cosine similarity of the embeddings, where both are of one
model; a negative one counts 0. With an embedding of the turn the score is 0.6 of the lexical and 0.4 of the semantic
one, else it is the lexical one. A user memory is always eligible, a learned one with either above its floor.

Arguments
  actor            uuid    the account
  query            text    the turn
  embedding        real[]  the turn''s embedding; one that no memory could have is as none
  embedding_model  text    its model
Returns
  memory, score, lexical_score, semantic_score (0 to 1, 6 decimals; semantic_score is NULL where the embeddings don''t compare) and
  eligible, best first, then newest, then by id; none for a blank turn
Errors
  actor_unknown'),
    (21, 'Recall', 'recall', 'what one turn is told.',
'recall: what one turn is told.

Call
  memstore.recall(
    actor uuid,
    query text,
    embedding real[] default null,
    embedding_model text default null,
    maximum_attached integer default null,
    maximum_attached_characters integer default null,
    out memories jsonb,
    out dropped integer,
    out unembedded integer,
    out backend text,
    out note text
  )
  stable

Example
  select dropped, backend, note
  from memstore.recall(memstore.find_user(''account-1''), ''Install the deps with npm.'');
Result
  0|lexical|[From memory: user, just now] I use pnpm, not npm.

Attaches the best of the account''s eligible memories (rank_memories): first as many as maximum_attached, then,
walking down them, those whose bodies fit into maximum_attached_characters; what does not fit is passed over, and
none is cut. What is left out is counted. A blank turn recalls nothing.

Where the operator has turned system recall on, claims follow (rank_claims): one of an account and two in all, or as
many as maximum_attached if that is less, within the characters that the account''s own memories left. What that
leaves out is not counted: it would tell how large the shared store is.

Arguments
  actor                        uuid     the account
  query                        text     the turn; its first 512 characters count
  embedding                    real[]   the turn''s embedding; one that no memory could have is as none
  embedding_model              text     its model
  maximum_attached             integer  memories at most, 0 or more; the setting where left out
  maximum_attached_characters  integer  characters of bodies at most, 0 or more; the setting where left out
Returns
  one row: memories (an array of what was attached, best first; claims have a status), dropped (eligible but not
  attached), unembedded (where the turn has an embedding: candidates without one of its model, compared by words
  alone), backend (none, lexical, hybrid), and the note to put before the turn, NULL where there is nothing to say
Errors
  actor_unknown; argument_invalid (a bound below 0)'),
    (22, 'Governance of the system bucket', 'challenge_memory', 'says that a claim is wrong.',
'challenge_memory: says that a claim is wrong.

Call
  memstore.challenge_memory(
    actor uuid,
    memory_id uuid,
    ground text,
    evidence_refs jsonb default null
  )
  returns memstore.admission_record

Example
  select role, memory_id from memstore.challenge_memory(
    memstore.find_user(''account-1''),
    ''00000000-0000-4000-8000-0000000000c1'',
    ''The tool was renamed in May.'',
    ''[{"kind": "url", "ref": "https://example.org/rename", "digest": "sha256:00"}]''
  );
Result
  challenge|00000000-0000-4000-8000-0000000000c1

Any account may, the claim''s author too. Only with evidence does a challenge suspend an admitted claim, and the
challenges of one account suspend at most a quarter of all admitted claims, rounded up: the earliest ones; the rest
wait. Only a refutation closes a challenge.

Arguments
  actor          uuid   the account
  memory_id      uuid   the claim, live or superseded
  ground         text   why, 1 to 2,000 characters
  evidence_refs  jsonb  absent, or 1 to 20 objects with kind (receipt, memory, url), ref (2,000 characters) and
                        digest (200 characters)
Returns
  the record
Errors
  actor_unknown, record_target_not_found, quota_reached (200 open challenges of the account);
  memory_admissions_ground_shape, memory_admissions_evidence_refs_shape'),
    (23, 'Governance of the system bucket', 'list_claims', 'a steward''s queue.',
'list_claims: a steward''s queue.

Call
  memstore.list_claims(
    actor uuid,
    status text default null,
    page_size integer default 50,
    after uuid default null
  )
  returns setof memstore.claim
  stable

Example
  select (memory).slug, status, open_challenges from memstore.list_claims(memstore.find_user(''steward-1''), ''admitted'');
Result
  sys:pnpm|admitted|0

Arguments
  actor      uuid     the steward
  status     text     candidate, admitted, rejected or suspended; all of them where left out
  page_size  integer  1 to 200 claims; 50
  after      uuid     the id of the last claim of the page before
Returns
  live claims, oldest first: memory, status, and how many challenges are open
Errors
  actor_unknown, steward_required; argument_invalid (status, page_size); memory_not_found (after)'),
    (24, 'Governance of the system bucket', 'list_records', 'the argument about a claim.',
'list_records: the argument about a claim.

Call
  memstore.list_records(actor uuid, memory_id uuid)
  returns setof memstore.admission_record
  stable

Example
  select role, verdict, ground
  from memstore.list_records(memstore.find_user(''account-1''), ''00000000-0000-4000-8000-0000000000c1'');
Result
  admission|admitted|The receipt checks out.

Arguments
  actor      uuid  any account
  memory_id  uuid  the claim, live or superseded
Returns
  its records, oldest first
Errors
  actor_unknown, record_target_not_found'),
    (25, 'Governance of the system bucket', 'memory_status', 'what the records say of a claim.',
'memory_status: what the records say of a claim.

Call
  memstore.memory_status(actor uuid, memory_id uuid)
  returns text
  stable

Example
  select memstore.memory_status(memstore.find_user(''account-1''), ''00000000-0000-4000-8000-0000000000c1'');
Result
  admitted

Arguments
  actor      uuid  any account
  memory_id  uuid  the claim, live or superseded
Returns
  candidate, admitted, rejected or suspended; NULL where this is no claim
Errors
  actor_unknown'),
    (26, 'Governance of the system bucket', 'promote_memory', 'a steward moves a claim to a reviewed position of a knowledge base.',
'promote_memory: a steward moves a claim to a reviewed position of a knowledge base.

Call
  memstore.promote_memory(
    actor uuid,
    target uuid,
    stance text,
    evidence_refs jsonb,
    as_of date default null,
    entity text default null
  )
  returns memstore.memory

Example
  select slug, body, stance from memstore.promote_memory(
    memstore.find_user(''steward-1''),
    ''00000000-0000-4000-8000-0000000000c1'',
    ''package-managers'',
    ''[{"kind": "url", "ref": "https://example.org/package-managers", "digest": "sha256:00"}]''
  );
Result
  sys:pnpm|Promoted to package-managers.|package-managers

Supersedes the claim by a tombstone on the same slug: a pointer, not a claim, which reaches no recall. The open
challenges of the claim are answered, as by any correction of a steward''s.

Arguments
  actor          uuid   the steward
  target         uuid   the claim, live
  stance         text   the position''s id, 1 to 200 characters: lowercase words joined by single hyphens
  evidence_refs  jsonb  1 to 20 objects, as in insert_memory
  as_of          date   today where left out
  entity         text   the claim''s where left out; an empty text clears it
Returns
  the tombstone
Errors
  actor_unknown, steward_required, stance_required, not_supersedable (no live claim); the names of the rules'),
    (27, 'Governance of the system bucket', 'record_admission', 'a steward''s verdict on a claim.',
'record_admission: a steward''s verdict on a claim.

Call
  memstore.record_admission(actor uuid, memory_id uuid, verdict text, ground text)
  returns memstore.admission_record

Example
  select memory_id, verdict from memstore.record_admission(
    memstore.find_user(''steward-1''),
    ''00000000-0000-4000-8000-0000000000c1'',
    ''admitted'',
    ''Both receipts check out.''
  );
Result
  00000000-0000-4000-8000-0000000000c1|admitted

The latest verdict counts. A verdict closes no challenge.

Arguments
  actor      uuid  the steward
  memory_id  uuid  the claim, live or superseded
  verdict    text  admitted or rejected
  ground     text  why, 1 to 2,000 characters
Returns
  the record
Errors
  actor_unknown, steward_required, record_target_not_found; memory_admissions_verdict_shape,
  memory_admissions_ground_shape'),
    (28, 'Governance of the system bucket', 'refute_challenge', 'a steward answers a challenge, which closes it.',
'refute_challenge: a steward answers a challenge, which closes it.

Call
  memstore.refute_challenge(actor uuid, challenge_id uuid, ground text)
  returns memstore.admission_record

Example
  select role, memory_id from memstore.refute_challenge(
    memstore.find_user(''steward-1''),
    (memstore.challenge_memory(
      memstore.find_user(''account-1''), ''00000000-0000-4000-8000-0000000000c1'', ''It seems wrong to me.''
    )).id,
    ''The receipts say otherwise.''
  );
Result
  refutation|00000000-0000-4000-8000-0000000000c1

Arguments
  actor         uuid  the steward
  challenge_id  uuid  the challenge; one that is closed already stays so
  ground        text  why, 1 to 2,000 characters
Returns
  the record
Errors
  actor_unknown, steward_required, challenge_not_found; memory_admissions_ground_shape'),
    (29, 'Operator: the schema''s owner only', 'configure', 'changes the store''s settings, and tells them.',
'configure: changes the store''s settings, and tells them.

Call
  memstore.configure(
    maximum_live_memories integer default null,
    maximum_attached integer default null,
    maximum_attached_characters integer default null,
    lexical_floor double precision default null,
    semantic_floor double precision default null,
    previous_share double precision default null,
    next_share double precision default null,
    system_recall_enabled boolean default null,
    maximum_system_pool integer default null
  )
  returns memstore.settings

Example
  select maximum_attached, maximum_attached_characters from memstore.configure(maximum_attached => 6);
Result
  6|2000

Operator only. What is left out stays as it is.

Arguments
  maximum_live_memories        integer           the ceiling of new accounts, 0 or more
  maximum_attached             integer           memories that one recall attaches, 0 or more
  maximum_attached_characters  integer           characters of bodies that one recall attaches, 0 or more
  lexical_floor                double precision  0 to 1: a learned memory is eligible above it
  semantic_floor               double precision  0 to 1: likewise
  previous_share               double precision  0 to 1: by how much a word of the memory before in the same
                                                 source_ref counts
  next_share                   double precision  0 to 1: of the memory after
  system_recall_enabled        boolean           whether recall reads the system bucket
  maximum_system_pool          integer           claims that are ranked for one turn, 0 or more
Returns
  the settings
Errors
  the names of the rules of settings, such as settings_lexical_floor_shape'),
    (30, 'Operator: the schema''s owner only', 'forget_embedding_model', 'takes back register_embedding_model.',
'forget_embedding_model: takes back register_embedding_model.

Call
  memstore.forget_embedding_model(name text)
  returns void

Example
  select memstore.forget_embedding_model(''no such model'');
Result

Operator only. The name goes at once where no memory uses it, and with its last embedding otherwise.

Arguments
  name  text  the model''s name
Errors
  none'),
    (31, 'Operator: the schema''s owner only', 'grant_api', 'lets a role call the API.',
'grant_api: lets a role call the API.

Call
  memstore.grant_api(role text)
  returns void

Example
  create role memory_application;
  select memstore.grant_api(''memory_application'');
Result

Operator only. The role may call what sql/functions has outside operator/, and nothing else: no table, no
operator function. Functions that a later version adds are granted to it too, when that version is loaded.

Arguments
  role  text  the role''s name
Errors
  argument_invalid (no such role)'),
    (32, 'Operator: the schema''s owner only', 'import_memories', 'brings in memories of one account with their ids and times.',
'import_memories: brings in memories of one account with their ids and times.

Call
  memstore.import_memories(user_id uuid, memories jsonb)
  returns setof memstore.memory

Example
  select body, inserted_at from memstore.import_memories(
    memstore.find_user(''account-1''),
    ''[{"id": "00000000-0000-4000-8000-000000000007", "body": "I use npm.", "inserted_at": "2026-01-02T03:04:05Z"}]''
  );
Result
  I use npm.|2026-01-02 03:04:05+00

Operator only. As insert_memories, and objects may also have stance, inserted_at, updated_at, superseded_at and
superseded_by_id; times are texts with a zone, such as 2026-01-02T03:04:05Z. What is replaced may point at a row
of the same call or at one that is there.

Arguments
  user_id   uuid   the account
  memories  jsonb  an array of up to 10,000 objects
Returns
  the memories, in the order of the items
Errors
  as insert_memories, and not_supersedable for a pointer that no correction could have left'),
    (33, 'Operator: the schema''s owner only', 'memories_to_embed', 'the memories that have no embedding of a model yet.',
'memories_to_embed: the memories that have no embedding of a model yet.

Call
  memstore.memories_to_embed(
    embedding_model text,
    page_size integer default 1000,
    after uuid default null
  )
  returns setof memstore.memory
  stable

Example
  select body from memstore.memories_to_embed(''two-numbers'');
Result
  I use pnpm, not npm.
  pnpm is the faster package manager.

Operator only. For filling gaps, and for moving a store to another model: embed the bodies, call set_embedding for
each row''s user_id and id, and ask for the page after the last id.

Arguments
  embedding_model  text     the model''s name
  page_size        integer  1 to 10,000 memories; 1,000
  after            uuid     the id of the last memory of the page before
Returns
  live memories of all accounts and buckets, tombstones aside, by id
Errors
  argument_invalid (embedding_model, page_size)'),
    (34, 'Operator: the schema''s owner only', 'register_embedding_model', 'fixes the number of dimensions of a model''s embeddings.',
'register_embedding_model: fixes the number of dimensions of a model''s embeddings.

Call
  memstore.register_embedding_model(name text, dimensions integer)
  returns void

Example
  select memstore.register_embedding_model(''two-numbers'', 2);
Result

Operator only. The first embedding of a model does the same; a registered name also stays when no memory uses it.

Arguments
  name        text     the model''s name, 1 to 200 characters
  dimensions  integer  1 to 16,000
Errors
  embedding_dimensions_differ (embeddings of another width are stored); the names of the rules of
  embedding_models, such as embedding_models_dimensions_shape'),
    (35, 'Operator: the schema''s owner only', 'revoke_api', 'takes back grant_api.',
'revoke_api: takes back grant_api.

Call
  memstore.revoke_api(role text)
  returns void

Example
  create role former_application;
  select memstore.grant_api(''former_application'');
  select memstore.revoke_api(''former_application'');
  select has_schema_privilege(''former_application'', ''memstore'', ''usage'');
Result
  f

Operator only.

Arguments
  role  text  the role''s name
Errors
  argument_invalid (no such role)'),
    (36, 'Operator: the schema''s owner only', 'set_maximum_live_memories', 'the ceiling of one account.',
'set_maximum_live_memories: the ceiling of one account.

Call
  memstore.set_maximum_live_memories(user_id uuid, maximum_live_memories integer)
  returns void

Example
  select memstore.set_maximum_live_memories(memstore.find_user(''account-1''), 1000);
Result

Operator only. A ceiling below what the account holds takes nothing away: it can correct and delete, and adds
nothing. For new accounts: configure.

Arguments
  user_id                uuid     the account
  maximum_live_memories  integer  live memories at most, of all buckets, tombstones aside; 0 or more
Errors
  actor_unknown; users_maximum_live_memories_shape'),
    (37, 'Operator: the schema''s owner only', 'set_steward', 'marks an account as a steward of the system bucket, or unmarks it.',
'set_steward: marks an account as a steward of the system bucket, or unmarks it.

Call
  memstore.set_steward(user_id uuid, steward boolean)
  returns void

Example
  select memstore.set_steward(memstore.find_user(''account-1''), true);
Result

Operator only.

Arguments
  user_id  uuid     the account
  steward  boolean  whether it is a steward
Errors
  actor_unknown; users_steward_shape'),
    (38, 'Operator: the schema''s owner only', 'store_statistics', 'figures of the whole store, for monitoring.',
'store_statistics: figures of the whole store, for monitoring.

Call
  memstore.store_statistics()
  returns table (name text, labels jsonb, value double precision, exact boolean)
  stable

Example
  select labels ->> ''bucket'', labels ->> ''state'', value
  from memstore.store_statistics()
  where name = ''memories'' and labels ->> ''bucket'' <> ''learned'';
Result
  user|live|1
  user|superseded|0
  system|live|1
  system|superseded|0
  system|tombstone|0

Operator only. One row a figure, with labels as Prometheus has them, so that an exporter passes them on as they are. No
text of anybody''s is in it: accounts appear by id, and only the fullest ones.

It may be asked every minute: in a store of 1.3 million memories it takes 0.2 s. What would need a scan of them is
counted up to about 32 MB (some 50,000 rows), and beyond that estimated from so many pages picked at random, which is
then told by exact. Estimates are mostly within 5 %, and coarser for what is rare. The rest reads the accounts, the live
claims and PostgreSQL''s own counters.

Figures
  schema_version
  accounts {state}                     active, erased
  stewards
  accounts_near_ceiling                those that hold 90 % of their ceiling or more
  account_fullness {account}           live memories / ceiling, of the 20 fullest of these
  memories {bucket, state}             live, superseded, tombstone
  unembedded_memories                  live ones, tombstones aside, that have no embedding
  unembedded_memories {model}          that have none of this model; of the 20 models with the most
  claims {status}                      live ones: candidate, admitted, rejected, suspended
  open_challenges {state}              effective: it suspends its claim; queued: its author''s share is used up, or an
                                       earlier one of the author''s counts; not_admitted: its claim is not; unevidenced
  oldest_open_challenge_seconds {state}  where there are any
  table_bytes {table}                  with what is stored out of line, without indexes
  live_rows, dead_rows {table}         as PostgreSQL''s counters have them, as all that follows
  row_updates, hot_row_updates {table}   hot: without work for the indexes
  sequential_scans {table}
  seconds_since_vacuum, seconds_since_analyze {table}  by autovacuum or by hand; absent where never
  index_bytes, index_scans {table, index}
  setting {name}                       as configure has them; 1 is on
Returns
  name, labels, value, and whether the value is exact
Errors
  none'),
    (39, 'Operator: the schema''s owner only', 'verify_store', 'whether the store''s data is as its rules have it.',
'verify_store: whether the store''s data is as its rules have it.

Call
  memstore.verify_store()
  returns table (invariant text, violations bigint, example text)
  stable

Example
  select invariant, violations from memstore.verify_store() where invariant like ''chain%'';
Result
  chain_targets|0
  chain_times|0
  chain_order|0
  chain_loops|0
  chain_borders|0

Operator only. One row for each invariant, each with how many rows break it and the id of one of them; no text is
shown. It reads the whole store in one snapshot, changes nothing, and takes a while for a large one. Constraints and
triggers hold all of this; what gets past them is a damaged disk, a superuser who turned them off, or a fault.

Invariants
  users_rules, settings_rules, embedding_models_rules, memories_rules, memory_admissions_rules, claim_counter_rules,
  deployment_rules   each row obeys the rules of its table
  single_rows        settings and the counter of claims have one row each
  live_memories      an account''s count of live memories is that of its rows
  erased_accounts    an erased account has no memories, and no texts in its records
  owners             each memory''s account exists
  chain_targets      what a memory is replaced by exists
  chain_times        what has a replacement has the time of it
  chain_order        a replacement is itself replaced later
  chain_loops        no memory is replaced by way of itself
  chain_borders      a replacement is of the same account, or both are of the system bucket
  search_vectors     the words of a memory are those of its body
  tombstones         a memory is a tombstone if it has a stance
  model_names        the model of each embedding is known
  model_dimensions   each embedding has its model''s number of dimensions
  record_targets     a record is about a claim that exists
  record_authors     a record''s account exists
  record_slugs       a record''s slug and the literals of its keys are those of its fields
  refutations        a refutation names a challenge of the same claim
  claim_statuses     the statuses that are kept are those that the records give
  open_challenges    the open challenges that are kept are those of the records, and those suspend that should
  challenge_limit    no account has more open challenges than it may
  claim_counter      the count of admitted claims is that of the records
  admitted_claims    what system recall reads are the live claims whose status is admitted
  claim_languages    the counts of their languages are theirs
  claim_words        the counts of their words are theirs
  guards             triggers and row-level security are on, constraints and indexes valid
Returns
  of each invariant its name, the number of violations, and the id of one (of a guard its name)
Errors
  none')
) p (position, area, name, summary, page);

comment on view memstore.pages is 'What help() shows of each function.';
