-- Which scope of a token a function needs at memstore serve: stated only here; what is not listed, no token reaches.
--   scope: NULL where any session may call it, of its own account
--   of_claims: the scope in place of it, where what is read or written is a claim; of another account's claim, and of a
--   correction by a steward, it is steward
create or replace view memstore.api_scopes
with (security_invoker = true)
as
select n.name, s.scope, s.of_claims
from (
  values
    (null, null, array['delegate_token', 'get_user', 'list_tokens', 'revoke_token']),
    ('recall', null, array[
      'explain_recall', 'export_account', 'export_memories', 'get_memory', 'list_memories', 'memory_histories',
      'rank_memories', 'recall', 'search_memories', 'similar_memories'
    ]),
    ('recall', 'claims', array['memory_history']),
    ('remember', 'claims', array['insert_memory', 'supersede_memory']),
    ('remember', null, array['supersede_with']),
    ('forget', 'claims', array['delete_memory', 'delete_history']),
    ('claims', null, array['challenge_memory', 'list_own_claims', 'list_records', 'memory_status']),
    ('steward', null, array[
      'count_claims', 'list_claims', 'promote_memory', 'record_admission', 'refute_challenge'
    ]),
    ('operator', null, array['store_statistics'])
) s (scope, of_claims, names)
cross join unnest(s.names) n (name);

comment on view memstore.api_scopes is 'Which scope of a token a function needs at memstore serve.';
