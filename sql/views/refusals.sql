-- The refusals that functions and triggers raise, each with its name, SQLSTATE, message and hint: stated only here.
-- Broken check constraints are refused with their comments (the view rules).
create or replace view memstore.refusals
with (security_invoker = true)
as
select r.name, r.sqlstate, r.message, r.hint
from (
  values
    ('actor_unknown', 'MS001', 'The account does not exist.',
      'Name an account that create_user returned, and that was not erased.'),
    ('memory_not_found', 'MS002', 'The account has no such memory.',
      'Look the id up in a list of the account''s memories, or of claims.'),
    ('not_supersedable', 'MS003', 'The memory cannot be superseded so.',
      'What is superseded is live, and the account''s own or, for a steward, a claim; what replaces it is another live '
      'memory, and both or neither are in the system bucket.'),
    ('id_taken', 'MS004', 'The id is taken.',
      'Repeat a call with the same content, or leave the id out.'),
    ('quota_reached', 'MS005', 'The account holds as much of this as it may.',
      'Of memories, correct or delete some, or have the operator raise maximum_live_memories; of items, delete some, or '
      'have maximum_items raised; of challenges, wait for answers.'),
    ('steward_required', 'MS006', 'Only a steward may do this.',
      'The operator marks stewards with set_steward.'),
    ('record_target_not_found', 'MS007', 'There is no such claim.',
      'A record is about a memory of the system bucket that is no tombstone.'),
    ('challenge_not_found', 'MS008', 'There is no such challenge.',
      'Look the id up with list_records.'),
    ('stance_required', 'MS009', 'A promotion needs a stance.',
      'Name the reviewed position that the claim moved to.'),
    ('memory_is_immutable', 'MS010', 'This part of a memory never changes.',
      'Correct a memory with supersede_memory.'),
    ('record_is_immutable', 'MS011', 'A record never changes.',
      'Add another record.'),
    ('argument_invalid', 'MS012', 'The argument is not of the form that the function takes.',
      'The function''s page says what it takes: select memstore.help(''its_name'').'),
    ('embedding_dimensions_differ', 'MS013', 'Embeddings of this model have another number of dimensions.',
      'Use another model name, or have the operator forget this one once no memory uses it.'),
    ('embedding_model_unregistered', 'MS014', 'The operator has not registered this embedding model.',
      'Use a registered model, or have the operator register this one.'),
    ('count_is_kept', 'MS015', 'The counts of an account are kept by triggers.',
      'Write and delete memories; verify_store tells where a count is wrong.'),
    ('role_bound', 'MS016', 'The role, or a member of it, is bound to an account.',
      'Grant another role, or end the binding with unbind_role: list_roles shows it.'),
    ('role_unbound', 'MS017', 'The role reaches more than one account.',
      'Bind a role of its own, that owns and can do nothing else here, as bind_role''s page says.'),
    ('item_changed', 'MS018', 'The item is no more of the version that the call names.',
      'Read it again, and repeat the change.'),
    ('item_is_kept', 'MS019', 'An item stays with its account, and each change has a new version.',
      'Write items with put_items.'),
    ('token_invalid', 'MS030', 'There is no such token.',
      'It is unknown, has ended or was revoked, or the account was erased: have another one made.'),
    ('scope_missing', 'MS031', 'The token does not allow this.',
      'A token allows what its scopes say: have one made that has the scope.'),
    ('migration_changed', 'MS020', 'This migration was applied from another file.',
      'Restore the file: a migration that was applied never changes.'),
    ('deployment_newer', 'MS021', 'This migration is not in the version that is being installed.',
      'Install the memstore that applied it, or a newer one.'),
    ('restored_by_inserts', 'MS025', 'The rows of a dump are restored by COPY alone.',
      'Dump them without --inserts, --column-inserts and --rows-per-insert; or restore a dump of the whole schema.')
) r (name, sqlstate, message, hint);

comment on view memstore.refusals is 'The refusals that functions and triggers raise: name, state, message and hint.';
