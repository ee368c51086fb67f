-- The common part of the recipes that make memories, which include it with \ir: what import_incoming.sql does, after what
-- an earlier run imported is told from what is new. The variable source names the table, and is what the source_ref of
-- each item begins with. What an earlier run imported and the table no longer has stays, and is listed.

\set function import_memories

alter table pg_temp.incoming
add column number bigint generated always as identity primary key,
add column outcome text default 'imported';

-- What was imported before keeps its source, which earlier versions of the recipes didn't note, and stays without
-- metadata where it has none, which they left out. It is compared with what is there: what was changed is left out.
update pg_temp.incoming i
set
  outcome = 'already there',
  item = case when m.metadata is null then i.item - 'metadata' else i.item end
    || jsonb_build_object('source_ref', m.source_ref)
from memstore.memories m
where m.id = (i.item ->> 'id')::uuid;

\ir import_incoming.sql

\echo 'What was deleted at the source since, and is still here:'
select m.id, u.external_ref as account
from memstore.memories m
join memstore.users u on u.id = m.user_id
where (m.source_ref = :'source' or starts_with(m.source_ref, :'source' || ', '))
and m.superseded_at is null
and not exists (select from pg_temp.incoming i where (i.item ->> 'id')::uuid = m.id)
order by 2, 1;

\echo 'Accounts that hold more than new ones may:'
select i.account, u.live_memories, u.maximum_live_memories as ceiling
from (select distinct account from pg_temp.incoming) i
join memstore.users u on u.external_ref = i.account
where u.maximum_live_memories > (select s.maximum_live_memories from memstore.settings s)
order by 1;
