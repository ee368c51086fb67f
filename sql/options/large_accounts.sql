-- For accounts of many thousand live memories: with these indexes a lexical recall reads the memories that have a word
-- of the query, instead of all of the account's. They make every insert slower, so they are the operator's choice.
--
--   psql -d agents -f sql/options/large_accounts.sql
--
-- The owner of the database runs it, also while the store is in use; it needs PostgreSQL's own btree_gin, and can be
-- repeated. For accounts below 5,000 live memories nothing changes. To undo it, drop the two indexes.

\set ON_ERROR_STOP on
create extension if not exists btree_gin;
create index concurrently if not exists memories_words_idx on memstore.memories using gin (user_id, search_vector)
where superseded_at is null and bucket in ('user', 'learned');
create index concurrently if not exists memories_sources_idx
on memstore.memories (user_id, source_ref, language, inserted_at, id) include (bucket)
where superseded_at is null and bucket in ('user', 'learned');
vacuum (analyze) memstore.memories;
