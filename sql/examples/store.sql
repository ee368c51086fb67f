-- The store in which the examples of the reference run: an account with one memory and one item, a steward with one
-- admitted claim.
select memstore.create_user(external_ref => 'account-1');
select memstore.insert_memory(
  memstore.find_user('account-1'), 'I use pnpm, not npm.', id => '00000000-0000-4000-8000-000000000001');
select memstore.put_items(
  memstore.find_user('account-1'),
  '[{"namespace": ["files", "notes"], "key": "plan.md", "value": {"text": "Ship on Tuesday.", "pages": 2}}]');

select memstore.set_steward(memstore.create_user(external_ref => 'steward-1'), true);
select memstore.insert_memory(
  memstore.find_user('steward-1'), 'pnpm is the faster package manager.', 'system',
  slug => 'sys:pnpm', tier => 'glass', as_of => '2026-08-25', admission => 'candidate',
  evidence_refs => '[{"kind": "receipt", "ref": "run 7", "digest": "sha256:00"}]',
  id => '00000000-0000-4000-8000-0000000000c1');
select memstore.record_admission(
  memstore.find_user('steward-1'), '00000000-0000-4000-8000-0000000000c1', 'admitted', 'The receipt checks out.');
