-- What grant_api grants: the functions of sql/functions outside operator/.
create or replace view memstore.api_functions
with (security_invoker = true)
as
select p.oid::regprocedure as signature, p.proname::text as name
from pg_catalog.pg_proc p
where p.pronamespace = 'memstore'::regnamespace
and p.proname in (
  'help', 'schema_version',
  'create_user', 'find_user', 'delete_user',
  'insert_memory', 'insert_memories', 'supersede_memory', 'supersede_with', 'delete_memory', 'get_memory',
  'list_memories', 'memory_history', 'memories_as_of', 'set_embedding', 'memory_violations', 'list_rules',
  'export_account', 'export_memories',
  'rank_memories', 'rank_claims', 'recall',
  'record_admission', 'challenge_memory', 'refute_challenge', 'promote_memory', 'memory_status', 'list_records',
  'list_claims'
);

comment on view memstore.api_functions is 'The functions that grant_api grants.';
