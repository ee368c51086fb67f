-- Installs memstore, or brings it up to date, with psql alone:
--
--   psql -d agents -f sql/install.sql
--
-- It needs no superuser, only the right to create a schema in the database, or an empty schema memstore of its own. It
-- runs in one transaction, can be repeated, and adopts what yoyo or memstore migrate did. Locks on tables that are in use
-- are waited for for 5 s, unless the caller has set lock_timeout.
--
-- The files of the code layer load in the order of the list below, which memstore migrate reads too: the locks; views,
-- internal functions, triggers and public functions, each folder by path; then what is compiled from the catalog, the
-- drops of what earlier versions had, and the grants. A function's body may name functions that load later; a trigger
-- needs only its own, which is in its file, and is_restore(), which is internal.

\set ON_ERROR_STOP on
\set QUIET on
begin isolation level read committed;
set local client_min_messages = warning;
set local client_encoding = 'UTF8';
set local standard_conforming_strings = on;
set local search_path = pg_catalog, pg_temp;
set local datestyle = 'ISO';
set local timezone = 'UTC';
set local quote_all_identifiers = off;
set local check_function_bodies = off;
\ir schema.sql
\ir lock.sql
\ir rows.sql
\ir timeout.sql
\ir yoyo.sql

-- migrations: by number
select not exists (select from memstore._yoyo_migration where migration_id = '0001-deployment') as pending,
  not has_database_privilege(current_database(), 'create') as adopted \gset
\if :pending
\if :adopted
\ir adopted_schema.sql
\else
\ir ../migrations/0001-deployment.sql
\endif
\endif
select not exists (select from memstore._yoyo_migration where migration_id = '0002-text') as pending \gset
\if :pending
\ir ../migrations/0002-text.sql
\endif
select not exists (select from memstore._yoyo_migration where migration_id = '0003-accounts') as pending \gset
\if :pending
\ir ../migrations/0003-accounts.sql
\endif
select not exists (select from memstore._yoyo_migration where migration_id = '0004-memories') as pending \gset
\if :pending
\ir ../migrations/0004-memories.sql
\endif
select not exists (select from memstore._yoyo_migration where migration_id = '0005-governance') as pending \gset
\if :pending
\ir ../migrations/0005-governance.sql
\endif
select not exists (select from memstore._yoyo_migration where migration_id = '0006-admitted-claims') as pending \gset
\if :pending
\ir ../migrations/0006-admitted-claims.sql
\endif
select not exists (select from memstore._yoyo_migration where migration_id = '0007-cheaper-writes') as pending \gset
\if :pending
\ir ../migrations/0007-cheaper-writes.sql
\endif
select not exists (select from memstore._yoyo_migration where migration_id = '0008-challenge-effect') as pending \gset
\if :pending
\ir ../migrations/0008-challenge-effect.sql
\endif
select not exists (select from memstore._yoyo_migration where migration_id = '0009-kept-counts') as pending \gset
\if :pending
\ir ../migrations/0009-kept-counts.sql
\endif
select not exists (select from memstore._yoyo_migration where migration_id = '0010-claim-signs') as pending \gset
\if :pending
\ir ../migrations/0010-claim-signs.sql
\endif
select not exists (select from memstore._yoyo_migration where migration_id = '0011-text-search-comments') as pending \gset
\if :pending
\ir ../migrations/0011-text-search-comments.sql
\endif
select not exists (select from memstore._yoyo_migration where migration_id = '0012-wider-ranking') as pending \gset
\if :pending
\ir ../migrations/0012-wider-ranking.sql
\endif
select not exists (select from memstore._yoyo_migration where migration_id = '0013-hostile-input') as pending \gset
\if :pending
\ir ../migrations/0013-hostile-input.sql
\endif
select not exists (select from memstore._yoyo_migration where migration_id = '0014-roles') as pending \gset
\if :pending
\ir ../migrations/0014-roles.sql
\endif
select not exists (select from memstore._yoyo_migration where migration_id = '0015-words') as pending \gset
\if :pending
\ir ../migrations/0015-words.sql
\endif
select not exists (select from memstore._yoyo_migration where migration_id = '0016-skipped-loads') as pending \gset
\if :pending
\ir ../migrations/0016-skipped-loads.sql
\endif
select not exists (select from memstore._yoyo_migration where migration_id = '0017-stance-in-body') as pending \gset
\if :pending
\ir ../migrations/0017-stance-in-body.sql
\endif
select not exists (select from memstore._yoyo_migration where migration_id = '0018-scopes-and-metadata') as pending \gset
\if :pending
\ir ../migrations/0018-scopes-and-metadata.sql
\endif
select not exists (select from memstore._yoyo_migration where migration_id = '0019-quiet-notes') as pending \gset
\if :pending
\ir ../migrations/0019-quiet-notes.sql
\endif
select not exists (select from memstore._yoyo_migration where migration_id = '0020-items') as pending \gset
\if :pending
\ir ../migrations/0020-items.sql
\endif
select not exists (select from memstore._yoyo_migration where migration_id = '0021-tokens') as pending \gset
\if :pending
\ir ../migrations/0021-tokens.sql
\endif
select not exists (select from memstore._yoyo_migration where migration_id = '0022-named-times') as pending \gset
\if :pending
\ir ../migrations/0022-named-times.sql
\endif
select not exists (select from memstore._yoyo_migration where migration_id = '0023-nearest-in-meaning') as pending \gset
\if :pending
\ir ../migrations/0023-nearest-in-meaning.sql
\endif
select not exists (select from memstore._yoyo_migration where migration_id = '0024-expired-items') as pending \gset
\if :pending
\ir ../migrations/0024-expired-items.sql
\endif
-- end
\ir yoyo.sql

-- Nothing is loaded, and so no table of an application's locked, where this code was loaded last and nothing has changed
-- it: what roles hold is noted all the same. The function that tells is that of the version which was loaded last, if it
-- has one.
\ir digest.sql
select to_regprocedure('memstore.code_is_loaded(text, jsonb)') is null as unknown \gset
\set loaded false
\if :unknown
\else
select memstore.code_is_loaded(:'code', :'migrations') as loaded \gset
\endif
\if :loaded
\ir note.sql
\else

-- code: by folder and name, written by python -m tests.generate
\ir lock_tables.sql
\ir note.sql
\ir views/api.sql
\ir views/api_functions.sql
\ir views/api_scopes.sql
\ir views/bundles.sql
\ir views/memory_columns.sql
\ir views/pages.sql
\ir views/refusals.sql
\ir views/rules.sql
\ir internal/access/digest_of.sql
\ir internal/access/live_token.sql
\ir internal/access/maximum_tokens.sql
\ir internal/access/new_secret.sql
\ir internal/access/write_token.sql
\ir internal/accounts/has_erased.sql
\ir internal/accounts/lock_account.sql
\ir internal/accounts/lock_actor.sql
\ir internal/accounts/lock_steward.sql
\ir internal/accounts/own_account.sql
\ir internal/accounts/read_account.sql
\ir internal/accounts/require_actor.sql
\ir internal/accounts/require_steward.sql
\ir internal/accounts/write_account.sql
\ir internal/errors/check_objects.sql
\ir internal/errors/refuse.sql
\ir internal/errors/refuse_argument.sql
\ir internal/errors/refuse_correction.sql
\ir internal/errors/refuse_id.sql
\ir internal/errors/refuse_row.sql
\ir internal/governance/derive_challenges.sql
\ir internal/governance/derive_statuses.sql
\ir internal/governance/derive_verdicts.sql
\ir internal/governance/erase_evidence.sql
\ir internal/governance/lock_claim.sql
\ir internal/governance/maximum_open_challenges.sql
\ir internal/governance/refresh_admitted_claims.sql
\ir internal/governance/refresh_claim_signs.sql
\ir internal/governance/refresh_statuses.sql
\ir internal/governance/to_record.sql
\ir internal/governance/write_record.sql
\ir internal/items/find_items.sql
\ir internal/items/read_item_embeddings.sql
\ir internal/items/read_item_filter.sql
\ir internal/items/read_items.sql
\ir internal/items/write_items.sql
\ir internal/memories/add_candidates.sql
\ir internal/memories/chain_accounts.sql
\ir internal/memories/chains_of.sql
\ir internal/memories/check_memories.sql
\ir internal/memories/delete_unused_model.sql
\ir internal/memories/ensure_embedding_model.sql
\ir internal/memories/find_twins.sql
\ir internal/memories/is_date.sql
\ir internal/memories/is_within.sql
\ir internal/memories/lock_memories.sql
\ir internal/memories/new_memory.sql
\ir internal/memories/read_embedding.sql
\ir internal/memories/read_filter.sql
\ir internal/memories/read_memories.sql
\ir internal/memories/read_scopes.sql
\ir internal/memories/trim_evidence.sql
\ir internal/memories/write_correction.sql
\ir internal/memories/write_memories.sql
\ir internal/memories/write_memory.sql
\ir internal/operator/grant_bundle.sql
\ir internal/operator/grant_functions.sql
\ir internal/operator/grant_to.sql
\ir internal/operator/granted_functions.sql
\ir internal/operator/reach_beyond.sql
\ir internal/operator/restore_grants.sql
\ir internal/recall/age_text.sql
\ir internal/recall/any_lexeme.sql
\ir internal/recall/best_memories.sql
\ir internal/recall/close_openings.sql
\ir internal/recall/count_candidates.sql
\ir internal/recall/every_lexeme.sql
\ir internal/recall/fuse.sql
\ir internal/recall/note_line.sql
\ir internal/recall/query_lexemes.sql
\ir internal/recall/query_times.sql
\ir internal/recall/sign_bits.sql
\ir internal/recall/speaker_is_named.sql
\ir internal/recall/word_weight.sql
\ir internal/recall/words_are_indexed.sql
\ir internal/recall/words_are_rare.sql
\ir internal/schema/altered_objects.sql
\ir internal/schema/catalog_digest.sql
\ir internal/schema/check_deployment.sql
\ir internal/schema/code_is_loaded.sql
\ir internal/schema/compile_columns.sql
\ir internal/schema/compile_comments.sql
\ir internal/schema/compile_embedding_is_usable.sql
\ir internal/schema/compile_item_similarities.sql
\ir internal/schema/compile_own_api.sql
\ir internal/schema/compile_rules.sql
\ir internal/schema/compile_scores.sql
\ir internal/schema/expected_objects.sql
\ir internal/schema/is_restore.sql
\ir internal/schema/objects.sql
\ir internal/schema/probe_words.sql
\ir internal/schema/record_deployment.sql
\ir internal/schema/record_words.sql
\ir internal/schema/revoke_public.sql
\ir internal/schema/words_are_current.sql
\ir triggers/complete_item.sql
\ir triggers/complete_memory.sql
\ir triggers/complete_user.sql
\ir triggers/count_items.sql
\ir triggers/count_live_memories.sql
\ir triggers/count_restored_memories.sql
\ir triggers/hold_chain.sql
\ir triggers/hold_embedding_dimensions.sql
\ir triggers/hold_tokens.sql
\ir triggers/keep_counts.sql
\ir triggers/project_deleted_claims.sql
\ir triggers/project_records.sql
\ir triggers/project_updated_claims.sql
\ir triggers/refuse_item_change.sql
\ir triggers/refuse_memory_change.sql
\ir triggers/refuse_record_change.sql
\ir triggers/refuse_restored_inserts.sql
\ir triggers/release_embedding_models.sql
\ir triggers/release_roles.sql
\ir triggers/replace_settings.sql
\ir triggers/restart_claim_counter.sql
\ir triggers/skip_derived_row.sql
\ir triggers/skip_installed.sql
\ir functions/access/list_tokens.sql
\ir functions/access/revoke_token.sql
\ir functions/accounts/create_login.sql
\ir functions/accounts/create_user.sql
\ir functions/accounts/delete_user.sql
\ir functions/accounts/find_user.sql
\ir functions/accounts/get_user.sql
\ir functions/governance/challenge_memory.sql
\ir functions/governance/count_claims.sql
\ir functions/governance/list_claims.sql
\ir functions/governance/list_own_claims.sql
\ir functions/governance/list_records.sql
\ir functions/governance/memory_status.sql
\ir functions/governance/promote_memory.sql
\ir functions/governance/record_admission.sql
\ir functions/governance/refute_challenge.sql
\ir functions/items/delete_expired_items.sql
\ir functions/items/export_items.sql
\ir functions/items/get_items.sql
\ir functions/items/item_violations.sql
\ir functions/items/list_item_namespaces.sql
\ir functions/items/put_items.sql
\ir functions/items/renew_items.sql
\ir functions/items/search_items.sql
\ir functions/memories/delete_history.sql
\ir functions/memories/delete_memory.sql
\ir functions/memories/delete_scope.sql
\ir functions/memories/export_account.sql
\ir functions/memories/export_memories.sql
\ir functions/memories/find_ids.sql
\ir functions/memories/get_memory.sql
\ir functions/memories/insert_memories.sql
\ir functions/memories/insert_memory.sql
\ir functions/memories/list_memories.sql
\ir functions/memories/list_rules.sql
\ir functions/memories/memories_as_of.sql
\ir functions/memories/memory_histories.sql
\ir functions/memories/memory_history.sql
\ir functions/memories/memory_violations.sql
\ir functions/memories/search_memories.sql
\ir functions/memories/set_embedding.sql
\ir functions/memories/supersede_memory.sql
\ir functions/memories/supersede_with.sql
\ir functions/operator/authenticate_token.sql
\ir functions/operator/authorize_call.sql
\ir functions/operator/bind_role.sql
\ir functions/operator/configure.sql
\ir functions/operator/create_token.sql
\ir functions/operator/delegate_token.sql
\ir functions/operator/forget_embedding_model.sql
\ir functions/operator/grant_api.sql
\ir functions/operator/grant_serve.sql
\ir functions/operator/import_items.sql
\ir functions/operator/import_memories.sql
\ir functions/operator/list_roles.sql
\ir functions/operator/memories_to_embed.sql
\ir functions/operator/prune_items.sql
\ir functions/operator/rebuild_words.sql
\ir functions/operator/redeem_login.sql
\ir functions/operator/register_embedding_model.sql
\ir functions/operator/revoke_api.sql
\ir functions/operator/set_maximum_items.sql
\ir functions/operator/set_maximum_live_memories.sql
\ir functions/operator/set_steward.sql
\ir functions/operator/store_statistics.sql
\ir functions/operator/unbind_role.sql
\ir functions/operator/verify_store.sql
\ir functions/recall/explain_recall.sql
\ir functions/recall/rank_claims.sql
\ir functions/recall/rank_memories.sql
\ir functions/recall/recall.sql
\ir functions/recall/similar_memories.sql
\ir functions/schema/help.sql
\ir functions/schema/read_json.sql
\ir functions/schema/schema_version.sql
\ir compile.sql
\ir fill.sql
\ir obsolete.sql
\ir grants.sql
-- end
select memstore.record_deployment(:'code', :'migrations') as recorded \gset
\endif

delete from memstore.yoyo_lock where pid = 0;
commit;
