-- For accounts of many thousand live memories: with these indexes a lexical recall reads the memories that have a word
-- of the query, and the others of their sources, instead of all of the account's. They make every insert slower, so they
-- are the operator's choice.
--
--   psql -d agents -f sql/options/large_accounts.sql
--
-- The owner of the schema runs it, also while the store is in use; it can be repeated, and is after an upgrade. Accounts
-- below 5,000 live memories are read as before, and so are queries of common words. To undo it, drop the two indexes.

\set ON_ERROR_STOP on
set client_min_messages = warning;
-- The first column is the account of a memory that recall can attach. Written so that no other index has it: whatever
-- PostgreSQL's statistics say, it can look for it in no other.
create index concurrently if not exists memories_account_words_idx on memstore.memories using gin (
  (case when superseded_at is null and bucket in ('user', 'learned') then array[user_id] end),
  search_vector
)
where case when superseded_at is null and bucket in ('user', 'learned') then array[user_id] end is not null;
create index concurrently if not exists memories_account_sources_idx on memstore.memories (
  (case when superseded_at is null and bucket in ('user', 'learned') then array[user_id] end),
  source_ref,
  language,
  inserted_at,
  id
)
include (user_id, bucket, superseded_at)
where case when superseded_at is null and bucket in ('user', 'learned') then array[user_id] end is not null;
-- Of earlier versions.
drop index concurrently if exists memstore.memories_words_idx;
drop index concurrently if exists memstore.memories_sources_idx;
vacuum (analyze) memstore.memories;
