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
  n.name,
  -- Accounts and logins are made, found and erased by who manages accounts.
  n.name in ('create_login', 'create_user', 'delete_user', 'find_user') as manages
from (
  values
    (1, 'schema', 'The schema', false, array['help', 'read_json', 'schema_version']),
    (2, 'accounts', 'Accounts', false, array[
      'create_login', 'create_user', 'delete_user', 'find_user', 'get_user'
    ]),
    (3, 'memories', 'Memories', false, array[
      'delete_history', 'delete_memory', 'delete_scope', 'export_account', 'export_memories', 'find_ids', 'get_memory', 'insert_memories',
      'insert_memory', 'list_memories', 'list_rules', 'memories_as_of', 'memory_histories', 'memory_history',
      'memory_violations', 'search_memories', 'set_embedding', 'supersede_memory', 'supersede_with'
    ]),
    (4, 'items', 'Items', false, array[
      'delete_expired_items', 'export_items', 'get_items', 'item_violations', 'list_item_namespaces', 'put_items',
      'renew_items', 'search_items'
    ]),
    (5, 'recall', 'Recall', false, array['explain_recall', 'rank_claims', 'rank_memories', 'recall', 'similar_memories']),
    (6, 'governance', 'Governance of the system bucket', false, array[
      'challenge_memory', 'count_claims', 'list_claims', 'list_own_claims', 'list_records', 'memory_status',
      'promote_memory', 'record_admission', 'refute_challenge'
    ]),
    (7, 'access', 'Access over HTTP', false, array['list_tokens', 'revoke_token']),
    (8, 'operator', 'Operator: the schema''s owner only', true, array[
      'authenticate_token', 'authorize_call', 'bind_role', 'configure', 'create_token', 'delegate_token',
      'forget_embedding_model', 'grant_api', 'grant_serve', 'import_items', 'import_memories', 'list_roles', 'memories_to_embed',
      'prune_items', 'rebuild_words', 'redeem_login', 'register_embedding_model', 'revoke_api', 'set_maximum_items', 'set_maximum_live_memories',
      'set_steward', 'store_statistics', 'unbind_role', 'verify_store'
    ])
) a (number, folder, title, owner_only, names)
cross join unnest(a.names) with ordinality n (name, number);

comment on view memstore.api is 'The public functions by area, and which of them are the owner''s alone.';
