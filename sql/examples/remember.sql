-- From a first memory to a correction and its history, with psql alone:
--
--   psql -qAtX -d agents -v account=customer-7 -f sql/examples/remember.sql
--
-- Below each statement is what it prints, in a store that has no account customer-7 yet.
\set ON_ERROR_STOP on

-- Safe to repeat: the same external_ref is the same account.
select memstore.create_user(external_ref => :'account') as account_id \gset

select id as memory_id from memstore.insert_memory(:'account_id', 'I use npm.') \gset
select id as correction_id
from memstore.supersede_memory(:'account_id', :'memory_id', 'I use pnpm, not npm.') \gset

select note from memstore.recall(:'account_id', 'Install the deps with npm.');
--> [From memory: user, just now] I use pnpm, not npm.

select body, superseded_at is null from memstore.memory_history(:'account_id', :'correction_id');
--> I use npm.|f
--> I use pnpm, not npm.|t

-- With ON_ERROR_STOP a refusal ends the script. Without it, psql has its SQLSTATE in a variable; \errverbose shows its
-- name.
\set ON_ERROR_STOP off
select memstore.supersede_memory(:'account_id', :'memory_id', 'I use yarn.');
\echo :SQLSTATE :LAST_ERROR_MESSAGE
--> MS003 The memory cannot be superseded so.
\set ON_ERROR_STOP on

select memstore.delete_user(:'account_id');
--> 2
