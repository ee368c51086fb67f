-- Imports the memories that mem0 keeps in its pgvector table, with SQL alone:
--
--   psql -d agents -v model=text-embedding-3-small -f sql/recipes/mem0.sql
--
-- Run it as the owner of memstore, with SELECT on mem0's table, in the database that has both; if mem0 has another
-- database, copy its table first (pg_dump -t mem0 | psql -d agents). mem0's table is not changed. It can be repeated:
-- memories that were imported before stay as they are, and those that mem0 has changed or deleted since are listed.
-- Every row that is not imported is listed with the reason. Variables, each with -v:
--
--   dry_run=on      imports, reports, and rolls back
--   model=NAME      the model of mem0's embeddings, which its table doesn't name; without it embeddings are left out
--   table=mem0      the name of the collection
--   schema=public   the schema of the table
--   bucket=learned  with user, every imported memory is eligible in every recall
--
-- | mem0 | memstore |
-- | --- | --- |
-- | id | id |
-- | payload user_id | the account, by its external_ref; rows of an agent or a run alone belong to no account |
-- | payload data | body: at most 2,000 characters, longer ones are left out |
-- | payload created_at, updated_at | inserted_at, updated_at |
-- | the table, payload run_id | source_ref: mem0 public.mem0, and behind a comma the run, else the id |
-- | vector | embedding, unless it is one of bits |
-- | other keys of the payload | metadata, but for hash and text_lemmatized |
-- | payload expiration_date | metadata; expired memories are left out, others never expire in memstore |

\set ON_ERROR_STOP on
\set QUIET on
\if :{?dry_run} \else \set dry_run off \endif
\if :{?model} \else \set model '' \endif
\if :{?table} \else \set table mem0 \endif
\if :{?schema} \else \set schema public \endif
\if :{?bucket} \else \set bucket learned \endif

\set source 'mem0 ' :schema '.' :table

begin;

create temporary table incoming on commit drop as
select
  m.id::text as origin,
  nullif(memstore.trim_text(m.payload ->> 'user_id'), '') as account,
  jsonb_strip_nulls(
    jsonb_build_object(
      'id', m.id,
      'bucket', :'bucket',
      'body', m.payload ->> 'data',
      'source_ref', concat(:'source', ', ', coalesce(m.payload ->> 'run_id', m.id::text)),
      'embedding', v.numbers,
      'embedding_model', case when v.numbers is not null then :'model' end,
      'inserted_at', m.payload ->> 'created_at',
      'updated_at', m.payload ->> 'updated_at'
    )
  ) || case
    when jsonb_typeof(m.payload) = 'object' then
      jsonb_build_object(
        'metadata', m.payload - '{user_id,data,created_at,updated_at,run_id,hash,text_lemmatized}'::text[]
      )
    else '{}'
  end as item,
  case
    -- As mem0 reads it: what is no date never expires.
    when m.payload ->> 'expiration_date' ~ '^\d{4}-\d\d-\d\d$'
      and m.payload ->> 'expiration_date' < (now() at time zone 'UTC')::date::text
    then 'It has expired in mem0.'
  end as misfit
from :"schema".:"table" m
cross join lateral (
  select case when :'model' <> '' and m.vector::text like '[%' then m.vector::text::jsonb end as numbers
) v;

\ir import_memories.sql

\if :dry_run
rollback;
\echo 'Rolled back: dry_run is on.'
\else
commit;
\endif
