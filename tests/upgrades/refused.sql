-- What the tables refuse, by the name of the refusal: a violation of each constraint, and of each rule that a
-- trigger holds. The ids are those of stores.fill; the shapes of memories are in tests/sql/cases.py.

-- users_external_ref_shape
insert into memstore.users (external_ref) values ('');

-- users_language_shape
insert into memstore.users (language) values ('klingon');

-- users_steward_shape
insert into memstore.users (steward) values (null);

-- users_maximum_live_memories_shape
insert into memstore.users (maximum_live_memories) values (-1);

-- users_live_memories_shape
update memstore.users set live_memories = -1;

-- users_inserted_at_shape
insert into memstore.users (inserted_at) values (null);

-- users_erased_at_shape
insert into memstore.users (external_ref, erased_at) values ('x', now());

-- account_roles_role_shape
insert into memstore.account_roles select '', id from memstore.users limit 1;

-- account_roles_user_id_fkey
insert into memstore.account_roles values ('r', '00000000-0000-4000-8000-000000000009');

-- account_roles_pkey
insert into memstore.account_roles select 'r', id from memstore.users cross join generate_series(1, 2);

-- api_roles_role_shape
insert into memstore.api_roles (role) values ('');

-- api_roles_bundle_shape
insert into memstore.api_roles (role, bundle) values ('r', 'some');

-- api_roles_functions_shape
insert into memstore.api_roles (role, functions) values ('r', null);

-- api_roles_known_shape
insert into memstore.api_roles (role, known) values ('r', array[null]);

-- api_roles_pkey
insert into memstore.api_roles (role) values ('r'), ('r');

-- tokens_user_id_shape
insert into memstore.tokens (user_id, kind, name, scopes, digest, inserted_at, expires_at)
select null::uuid, 'agent', 'x', '{recall}'::text[], sha256('x'), now(), now() + interval '1 day';

-- tokens_user_id_fkey
insert into memstore.tokens (user_id, kind, name, scopes, digest, inserted_at, expires_at)
select '00000000-0000-4000-8000-000000000009'::uuid, 'agent', 'x', '{recall}'::text[], sha256('x'), now(), now() + interval '1 day';

-- tokens_kind_shape
insert into memstore.tokens (user_id, kind, name, scopes, digest, inserted_at, expires_at)
select memstore.find_user('a'), 'other', 'x', '{recall}'::text[], sha256('x'), now(), now() + interval '1 day';

-- tokens_name_shape
insert into memstore.tokens (user_id, kind, name, scopes, digest, inserted_at, expires_at)
select memstore.find_user('a'), 'agent', '', '{recall}'::text[], sha256('x'), now(), now() + interval '1 day';

-- tokens_scopes_shape
insert into memstore.tokens (user_id, kind, name, scopes, digest, inserted_at, expires_at)
select memstore.find_user('a'), 'agent', 'x', '{all}'::text[], sha256('x'), now(), now() + interval '1 day';

-- tokens_digest_shape
insert into memstore.tokens (user_id, kind, name, scopes, digest, inserted_at, expires_at)
select memstore.find_user('a'), 'agent', 'x', '{recall}'::text[], 'short'::bytea, now(), now() + interval '1 day';

-- tokens_inserted_at_shape
insert into memstore.tokens (user_id, kind, name, scopes, digest, inserted_at, expires_at)
select memstore.find_user('a'), 'agent', 'x', '{recall}'::text[], sha256('x'), null::timestamptz, now() + interval '1 day';

-- tokens_expires_at_shape
insert into memstore.tokens (user_id, kind, name, scopes, digest, inserted_at, expires_at)
select memstore.find_user('a'), 'login', 'x', '{recall}'::text[], sha256('x'), now(), now() + interval '2 hours';

-- tokens_digest_key
insert into memstore.tokens (user_id, kind, name, scopes, digest, inserted_at, expires_at)
select memstore.find_user('a'), 'agent', 'x', '{recall}'::text[], sha256('x'), now(), now() + interval '1 day'
from generate_series(1, 2);

-- tokens_pkey
insert into memstore.tokens (user_id, kind, name, scopes, digest, inserted_at, expires_at, id)
select memstore.find_user('a'), 'agent', 'x', '{recall}'::text[], sha256(n::text::bytea), now(), now() + interval '1 day', '00000000-0000-4000-8000-000000000009'::uuid
from generate_series(1, 2) n;

-- settings_singleton_shape
insert into memstore.settings (singleton) values (false);

-- settings_maximum_live_memories_shape
update memstore.settings set maximum_live_memories = -1;

-- settings_maximum_attached_shape
update memstore.settings set maximum_attached = -1;

-- settings_maximum_attached_characters_shape
update memstore.settings set maximum_attached_characters = -1;

-- settings_lexical_floor_shape
update memstore.settings set lexical_floor = 2;

-- settings_semantic_floor_shape
update memstore.settings set semantic_floor = 2;

-- settings_previous_share_shape
update memstore.settings set previous_share = 2;

-- settings_next_share_shape
update memstore.settings set next_share = 2;

-- settings_speaker_share_shape
update memstore.settings set speaker_share = 2;
-- settings_time_share_shape
update memstore.settings set time_share = 2;

-- settings_source_share_shape
update memstore.settings set source_share = null;

-- settings_registered_models_only_shape
update memstore.settings set registered_models_only = null;

-- settings_user_floor_shape
update memstore.settings set user_floor = null;

-- settings_score_share_shape
update memstore.settings set score_share = 2;

-- settings_system_recall_enabled_shape
update memstore.settings set system_recall_enabled = null;

-- settings_maximum_system_pool_shape
update memstore.settings set maximum_system_pool = -1;

-- embedding_models_name_shape
insert into memstore.embedding_models values ('', 1);

-- embedding_models_dimensions_shape
insert into memstore.embedding_models values ('x', 0);

-- embedding_models_registered_shape
insert into memstore.embedding_models values ('x', 1, null);

-- memory_admissions_memory_id_shape
insert into memstore.memory_admissions (memory_id, user_id, role, verdict, challenge_id, ground, evidence_refs)
values (null, memstore.find_user('s'), 'admission', 'admitted', null, 'x', null);

-- memory_admissions_user_id_shape
insert into memstore.memory_admissions (memory_id, user_id, role, verdict, challenge_id, ground, evidence_refs)
values (pg_temp.id(20), null, 'admission', 'admitted', null, 'x', null);

-- memory_admissions_role_shape
insert into memstore.memory_admissions (memory_id, user_id, role, verdict, challenge_id, ground, evidence_refs)
values (pg_temp.id(20), memstore.find_user('s'), 'verdict', null, null, 'x', null);

-- memory_admissions_verdict_shape
insert into memstore.memory_admissions (memory_id, user_id, role, verdict, challenge_id, ground, evidence_refs)
values (pg_temp.id(20), memstore.find_user('s'), 'admission', null, null, 'x', null);

-- memory_admissions_challenge_id_shape
insert into memstore.memory_admissions (memory_id, user_id, role, verdict, challenge_id, ground, evidence_refs)
values (pg_temp.id(20), memstore.find_user('s'), 'refutation', null, null, 'x', null);

-- memory_admissions_ground_shape
insert into memstore.memory_admissions (memory_id, user_id, role, verdict, challenge_id, ground, evidence_refs)
values (pg_temp.id(20), memstore.find_user('s'), 'challenge', null, null, ' ', null);

-- memory_admissions_evidence_refs_shape
insert into memstore.memory_admissions (memory_id, user_id, role, verdict, challenge_id, ground, evidence_refs)
values (pg_temp.id(20), memstore.find_user('s'), 'challenge', null, null, 'x', '[]');

-- memory_admissions_inserted_at_shape
insert into memstore.memory_admissions (memory_id, user_id, role, verdict, ground, inserted_at)
values (pg_temp.id(20), memstore.find_user('s'), 'admission', 'admitted', 'x', null);

-- deployment_name_shape
insert into memstore.deployment (name) values ('');

-- deployment_checksum_shape
insert into memstore.deployment (name, checksum) values ('x', 'x');

-- deployment_catalog_shape
insert into memstore.deployment (name, catalog) values ('x', 'x');

-- claim_counter_singleton_shape
insert into memstore.claim_counter (singleton) values (false);

-- memories_user_id_shape
insert into memstore.memories (body, language) values ('x', 'english');

-- memories_user_id_fkey
insert into memstore.memories (user_id, body, language) values (pg_temp.id(99), 'x', 'english');

-- memories_embedding_model_fkey
delete from memstore.embedding_models where name = 'm';

-- memories_superseded_by_id_fkey
insert into memstore.memories (user_id, body, superseded_by_id, superseded_at)
values (memstore.find_user('s'), 'x', pg_temp.id(99), '9000-01-01');

-- memory_admissions_user_id_fkey
insert into memstore.memory_admissions (memory_id, user_id, role, verdict, challenge_id, ground, evidence_refs)
values (pg_temp.id(20), pg_temp.id(99), 'challenge', null, null, 'x', null);

-- memory_admissions_memory_id_fkey
insert into memstore.memory_admissions (memory_id, user_id, role, verdict, challenge_id, ground, evidence_refs)
values (pg_temp.id(13), memstore.find_user('s'), 'challenge', null, null, 'x', null);

-- memory_admissions_challenge_id_fkey
insert into memstore.memory_admissions (memory_id, user_id, role, verdict, challenge_id, ground, evidence_refs)
values (pg_temp.id(20), memstore.find_user('s'), 'refutation', null, pg_temp.id(99), 'x', null);

-- users_maximum_items_shape
update memstore.users set maximum_items = -1;

-- users_stored_items_shape
update memstore.users set stored_items = -1;

-- settings_maximum_items_shape
update memstore.settings set maximum_items = null;

-- items_user_id_shape
insert into memstore.items (namespace, key, value, language) values ('{a}', 'k', '{}', 'english');

-- items_user_id_fkey
insert into memstore.items (user_id, namespace, key, value, language)
values (pg_temp.id(99), '{a}', 'k', '{}', 'english');

-- items_namespace_shape
insert into memstore.items (user_id, namespace, key, value) values (memstore.find_user('s'), '{}', 'k', '{}');

-- items_key_shape
insert into memstore.items (user_id, namespace, key, value) values (memstore.find_user('s'), '{a}', '', '{}');

-- items_value_shape
insert into memstore.items (user_id, namespace, key, value) values (memstore.find_user('s'), '{a}', 'k', '[]');

-- items_indexed_shape
insert into memstore.items (user_id, namespace, key, value, indexed)
values (memstore.find_user('s'), '{a}', 'k', '{}', null);

-- items_language_shape
insert into memstore.items (user_id, namespace, key, value, language)
values (memstore.find_user('s'), '{a}', 'k', '{}', 'klingon');

-- items_ttl_seconds_shape
insert into memstore.items (user_id, namespace, key, value, ttl_seconds, expires_at)
values (memstore.find_user('s'), '{a}', 'k', '{}', 0, now());

-- items_expires_at_shape
insert into memstore.items (user_id, namespace, key, value, expires_at)
values (memstore.find_user('s'), '{a}', 'k', '{}', now());

-- items_version_shape
update memstore.items set version = null;

-- items_inserted_at_shape
update memstore.items set inserted_at = null;

-- items_updated_at_shape
update memstore.items set updated_at = inserted_at - interval '1 second';

-- items_path_key
insert into memstore.items (user_id, namespace, key, value) values (memstore.find_user('s'), '{kept}', 'k', '{}');

-- item_is_kept
update memstore.items set value = '{}';

-- item_embeddings_item_id_fkey
insert into memstore.item_embeddings values (pg_temp.id(99), '$', '{1,2}', 'm');

-- item_embeddings_embedding_model_fkey
delete from memstore.embedding_models where name = 'of items';

-- item_embeddings_field_shape
insert into memstore.item_embeddings select id, '', '{1,2}', 'm' from memstore.items;

-- item_embeddings_embedding_shape
insert into memstore.item_embeddings select id, 'x', '{0,0}', 'm' from memstore.items;

-- item_embeddings_embedding_model_shape
insert into memstore.item_embeddings select id, 'x', '{1,2}', '' from memstore.items;

-- memory_is_immutable
update memstore.memories set body = 'x' where id = pg_temp.id(13);

-- record_is_immutable
update memstore.memory_admissions set ground = 'x';

-- not_supersedable
update memstore.memories set superseded_by_id = pg_temp.id(10), superseded_at = now() where id = pg_temp.id(13);

-- quota_reached
insert into memstore.memories (user_id, body) values (memstore.find_user('a'), 'x');

-- embedding_dimensions_differ
insert into memstore.memories (user_id, body, embedding, embedding_model)
values (memstore.find_user('s'), 'x', '{1,2,3}', 'm');

-- settings_pkey
insert into memstore.settings default values;

-- claim_counter_pkey
insert into memstore.claim_counter default values;

-- deployment_pkey
insert into memstore.deployment (name, checksum) select name, checksum from memstore.deployment;

-- claim_statuses_pkey
insert into memstore.claim_statuses values (pg_temp.id(20), 'admitted', 'admitted');

-- open_challenges_pkey
insert into memstore.open_challenges select * from memstore.open_challenges;

-- users_external_ref_key
insert into memstore.users (external_ref) values ('a');

-- id_taken
select memstore.insert_memory(memstore.find_user('s'), 'x', id => pg_temp.id(13));
