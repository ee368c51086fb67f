-- Makes memories of the items of LangGraph's PostgresStore (the tables store and store_vectors), with SQL alone: for
-- recall, a text each. langgraph.sql brings the same tables to memstore's items, as they are.
--
--   psql -d agents -v account='^memories\.([^.]+)' -v model=text-embedding-3-small -f sql/recipes/langgraph_memories.sql
--
-- Run it as the owner of memstore, with SELECT on LangGraph's tables, in the database that has both; if LangGraph has
-- another database, copy its tables first (pg_dump -t store -t store_vectors | psql -d agents). They are not changed.
-- It can be repeated: memories that were imported before stay as they are, and items that LangGraph has changed or
-- deleted since are listed. Every item that is not imported is listed with the reason. Variables, each with -v:
--
--   dry_run=on        imports, reports, and rolls back
--   account=PATTERN   a regular expression that matches the namespace, whose labels are joined by dots; its group is
--                     the user's id: '^memories\.([^.]+)' unless given, for ("memories", user); '^([^.]+)\.memories'
--                     for (user, "memories"). Items of other namespaces are listed as left out
--   text=PATH         the path of the text in the value, such as '{content,content}'; unless given the first string
--                     among content.content (LangMem's), content, text, data and memory
--   model=NAME        the model of the embeddings, which the tables don't name; without it embeddings are left out
--   field=NAME        which field's embedding, where an item has several; without it such items get none
--   schema=public     the schema of the tables
--   bucket=learned    with user, every imported memory is eligible in every recall
--
-- | LangGraph | memstore |
-- | --- | --- |
-- | prefix (the namespace) | the account, by its external_ref |
-- | key | id, where it is a uuid that no other namespace has; else one is made of prefix and key. An item that was |
-- | | imported before keeps its id, which other namespaces' items don't change |
-- | the table, prefix, key | source_ref: LangGraph public.store, memories.alice.key, its first 200 characters |
-- | value | body: the text in it, at most 2,000 characters; items with longer ones are left out |
-- | created_at, updated_at | inserted_at, updated_at |
-- | store_vectors.embedding | embedding; of the types bit and sparsevec none: counted in the report |
-- | expires_at | none: expired items are left out, others never expire in memstore |
-- | other keys of the value | metadata |

\set ON_ERROR_STOP on
\set QUIET on
\if :{?dry_run} \else \set dry_run off \endif
\if :{?account} \else \set account '^memories\\.([^.]+)' \endif
\if :{?text} \else \set text '' \endif
\if :{?field} \else \set field '' \endif
\if :{?schema} \else \set schema public \endif
\if :{?bucket} \else \set bucket learned \endif

\set source 'LangGraph ' :schema '.store'

begin;

create temporary table vectors (prefix text, key text, numbers jsonb) on commit drop;
\if :{?model}
insert into vectors
select v.prefix, v.key, min(v.embedding::text)::jsonb
from :"schema".store_vectors v
where :'field' in ('', v.field_name)
and v.embedding::text like '[%'
group by v.prefix, v.key
having count(*) = 1;
\set embeddings on
\else
\set model ''
\set embeddings off
\endif

create temporary table incoming on commit drop as
select
  s.prefix || '.' || s.key as origin,
  n.account,
  jsonb_strip_nulls(
    jsonb_build_object(
      'id', case
        when made.id is not null then n.made
        when kept.id is not null then
          -- The time tells the item from one of another namespace that had the key.
          case when (u.external_ref, kept.inserted_at) = (n.account, s.created_at) then n.key else n.made end
        when exists (
          select
          from :"schema".store o
          where lower(o.key) = lower(s.key)
          and (o.prefix, o.key) <> (s.prefix, s.key)
        ) then n.made
        else coalesce(n.key, n.made)
      end,
      'bucket', :'bucket',
      'body', t.content #>> '{}',
      -- One for each item: ranking takes memories of one source for parts of one conversation.
      'source_ref', left(concat(:'source', ', ', s.prefix, '.', s.key), 200),
      'embedding', v.numbers,
      'embedding_model', case when v.numbers is not null then :'model' end,
      'inserted_at', to_jsonb(s.created_at),
      'updated_at', to_jsonb(s.updated_at)
    )
  ) || case
    when t.content is null then '{}'
    -- Without an object in which only the text was.
    when t.rest -> t.path[1] = '{}' then jsonb_build_object('metadata', t.rest - t.path[1])
    else jsonb_build_object('metadata', t.rest)
  end as item,
  case
    when s.expires_at < now() then 'It has expired in LangGraph.'
    when t.content is null then 'Its value has no text where one is expected.'
  end as misfit
from :"schema".store s
cross join lateral (
  select
    nullif(memstore.trim_text(substring(s.prefix from :'account')), '') as account,
    case when s.key ~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' then s.key::uuid end as key,
    md5(s.prefix || chr(31) || s.key)::uuid as made
) n
left join memstore.memories made on made.id = n.made
left join memstore.memories kept on kept.id = n.key
left join memstore.users u on u.id = kept.user_id
left join vectors v on v.prefix = s.prefix and v.key = s.key
left join lateral (
  select s.value #> p.path as content, p.path, s.value #- p.path as rest
  from (
    select string_to_array(d.path, ',') as path, d.position
    from unnest('{"content,content",content,text,data,memory}'::text[]) with ordinality d (path, position)
    where :'text' = ''
    union all
    select nullif(:'text', '')::text[], 1
    where :'text' <> ''
  ) p
  where jsonb_typeof(s.value #> p.path) = 'string'
  order by p.position
  limit 1
) t on true;

\ir import_memories.sql

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
