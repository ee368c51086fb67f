-- The public functions in the order of the reference: the one list of them by area, which is their folder in
-- sql/functions. grant_api grants all but the owner's; what is not listed is granted to nobody. A test holds the list
-- to the files.
create or replace view memstore.api
with (security_invoker = true)
as
select
  (row_number() over (order by a.number, n.number) - 1)::integer as position,
  a.folder,
  a.title,
  a.owner_only,
  n.name
from (
  values
    (1, 'schema', 'The schema', false, array['help', 'read_json', 'schema_version']),
    (2, 'accounts', 'Accounts', false, array['create_user', 'delete_user', 'find_user']),
    (3, 'memories', 'Memories', false, array[
      'delete_memory', 'delete_scope', 'export_account', 'export_memories', 'find_ids', 'get_memory', 'insert_memories',
      'insert_memory', 'list_memories', 'list_rules', 'memories_as_of', 'memory_history', 'memory_violations',
      'set_embedding', 'supersede_memory', 'supersede_with'
    ]),
    (4, 'items', 'Items', false, array[
      'delete_expired_items', 'export_items', 'get_items', 'item_violations', 'list_item_namespaces', 'put_items',
      'renew_items', 'search_items'
    ]),
    (5, 'recall', 'Recall', false, array['rank_claims', 'rank_memories', 'recall', 'similar_memories']),
    (6, 'governance', 'Governance of the system bucket', false, array[
      'challenge_memory', 'list_claims', 'list_records', 'memory_status', 'promote_memory', 'record_admission',
      'refute_challenge'
    ]),
    (7, 'operator', 'Operator: the schema''s owner only', true, array[
      'bind_role', 'configure', 'forget_embedding_model', 'grant_api', 'import_items', 'import_memories', 'list_roles',
      'memories_to_embed', 'prune_items', 'rebuild_words', 'register_embedding_model', 'revoke_api', 'set_maximum_items',
      'set_maximum_live_memories', 'set_steward', 'store_statistics', 'unbind_role', 'verify_store'
    ])
) a (number, folder, title, owner_only, names)
cross join unnest(a.names) with ordinality n (name, number);

comment on view memstore.api is 'The public functions by area, and which of them are the owner''s alone.';
