-- For accounts of many thousand live memories: indexes in which recall finds the lexemes of a query, instead of reading
-- each of the account's memories. Every insert maintains them, so they are the operator's choice.
--
--   psql -d agents -f sql/options/large_accounts.sql
--
-- The owner of the database runs it, also while the store is in use; it needs btree_gin, an extension that comes with
-- PostgreSQL, and can be repeated. Accounts below 5,000 live memories are read as before. To undo it, drop the two
-- indexes.

\set ON_ERROR_STOP on
create extension if not exists btree_gin;
create index concurrently if not exists memories_words_idx on memstore.memories using gin (user_id, search_vector)
where superseded_at is null and bucket in ('user', 'learned');
create index concurrently if not exists memories_sources_idx
on memstore.memories (user_id, source_ref, language, inserted_at, id) include (bucket)
where superseded_at is null and bucket in ('user', 'learned');
vacuum (analyze) memstore.memories;
