-- Brings the items of LangGraph's PostgresStore (the tables store and store_vectors) to memstore's items, as they are,
-- with SQL alone: keys, values, times, times to live and embeddings. langgraph_memories.sql makes memories of them.
--
--   psql -d agents -v account_segment=0 -v model=text-embedding-3-small -f sql/recipes/langgraph.sql
--
-- Run it as the owner of memstore, with SELECT on LangGraph's tables, in the database that has both; if LangGraph has
-- another database, copy its tables first (pg_dump -t store -t store_vectors | psql -d agents). They are not changed.
-- It can be repeated, until nothing writes to LangGraph's any more: items that LangGraph has put or renewed since are
-- brought again, those that were put here since stay. Every item that is not imported is listed with the reason.
-- Variables, each with -v, the first two as MemstoreStore has them, and one of them is needed:
--
--   account=NAME        the application's id of the account that all items belong to
--   account_segment=0   in its place, which label of the namespace is the account's, from 0
--   dry_run=on          imports, reports, and rolls back
--   model=NAME          the model of the embeddings, which the tables don't name and MemstoreStore's index must name
--                       alike; without it embeddings are left out
--   schema=public       the schema of the tables
--
-- | LangGraph | memstore |
-- | --- | --- |
-- | prefix | namespace, whose labels it joins by dots; the account, by its external_ref |
-- | key, value | key, value |
-- | created_at, updated_at | inserted_at, updated_at |
-- | ttl_minutes, expires_at | ttl_seconds, expires_at; expired items are left out |
-- | store_vectors | embeddings, field by field; of the types bit and sparsevec none: counted in the report |

\set ON_ERROR_STOP on
\set QUIET on
\if :{?dry_run} \else \set dry_run off \endif
\if :{?schema} \else \set schema public \endif
\if :{?account} \else \set account '' \endif
\if :{?account_segment} \else \set account_segment '' \endif

begin;

select set_config('memstore_recipe.one_account', ((:'account' = '') <> (:'account_segment' = ''))::text, true) \g /dev/null
do $$
begin
  if not current_setting('memstore_recipe.one_account')::boolean then
    raise exception 'Set one of the variables account and account_segment.';
  end if;
end
$$;

create temporary table vectors (prefix text, key text, embeddings jsonb) on commit drop;
\if :{?model}
insert into vectors
select
  v.prefix,
  v.key,
  jsonb_agg(
    jsonb_build_object('field', v.field_name, 'embedding', v.embedding::text::jsonb, 'embedding_model', :'model')
    order by v.field_name
  )
from :"schema".store_vectors v
where v.embedding::text like '[%'
group by v.prefix, v.key;
\set embeddings on
\else
\set embeddings off
\endif

create temporary table incoming on commit drop as
select
  row_number() over (order by s.prefix, s.key) as number,
  s.prefix || '.' || s.key as origin,
  n.account,
  n.namespace,
  s.key,
  jsonb_strip_nulls(
    jsonb_build_object(
      'namespace', n.namespace,
      'key', s.key,
      'ttl_seconds', n.ttl_seconds,
      'expires_at', s.expires_at,
      'inserted_at', least(s.created_at, s.updated_at),
      'updated_at', coalesce(s.updated_at, s.created_at),
      'embeddings', v.embeddings
    )
  )
  -- A value may have nulls of its own.
  || jsonb_build_object('value', s.value) as item,
  case
    when i.id is null then 'imported'
    when coalesce(s.updated_at, s.created_at) > i.updated_at
      or coalesce(s.updated_at, s.created_at) = i.updated_at and s.expires_at > i.expires_at
    then 'imported again'
  end as outcome,
  case
    when s.expires_at < now() then 'It has expired in LangGraph.'
    when s.value = 'null' then 'value: It is null.'
  end as misfit
from :"schema".store s
cross join lateral (
  select
    a.namespace,
    nullif(coalesce(nullif(:'account', ''), a.namespace[nullif(:'account_segment', '')::integer + 1]), '') as account,
    -- From its last put on, where it has a time to expire alone; and no longer than the rule of items allows.
    case
      when s.expires_at is not null then
        least(coalesce(nullif(s.ttl_minutes, 0) * 60.0, extract(epoch from s.expires_at - s.updated_at)), 3155760000)
    end as ttl_seconds
  from (select string_to_array(s.prefix, '.') as namespace) a
) n
left join memstore.users u on u.external_ref = n.account
left join memstore.items i on i.user_id = u.id and i.namespace = n.namespace and i.key = s.key
left join vectors v on v.prefix = s.prefix and v.key = s.key;

\set function import_items
\ir import_incoming.sql

\echo 'What is here alone, since it was deleted at the source or put here:'
select u.external_ref as account, array_to_string(i.namespace, '.') || '.' || i.key as item, i.updated_at
from memstore.items i
join memstore.users u on u.id = i.user_id
where u.external_ref = coalesce(nullif(:'account', ''), i.namespace[nullif(:'account_segment', '')::integer + 1])
and not exists (
  select
  from pg_temp.incoming s
  where s.account = u.external_ref
  and s.namespace = i.namespace
  and s.key = i.key
)
order by 1, 2;

\echo 'Accounts that hold more than others may:'
select u.external_ref as account, u.stored_items, u.maximum_items as maximum
from (select distinct account from pg_temp.incoming) i
join memstore.users u on u.external_ref = i.account
where u.maximum_items > (select s.maximum_items from memstore.settings s)
order by 1;

\if :embeddings
\echo 'Embeddings that memstore has no form for:'
select pg_typeof(v.embedding) as embedding_type, count(*) as rows
from :"schema".store_vectors v
where v.embedding::text not like '[%'
group by 1
order by 1;
\endif

\if :dry_run
rollback;
\echo 'Rolled back: dry_run is on.'
\else
commit;
\endif
