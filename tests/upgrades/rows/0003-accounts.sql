-- Accounts (one erased, one with a lowered ceiling), models and settings.
insert into memstore.users (id, external_ref, language, steward, maximum_live_memories, erased_at)
values
  (pg_temp.id(1), 'a', 'english', false, 200, null), (pg_temp.id(2), 'b', 'german', false, 200, null),
  (pg_temp.id(3), 's', 'english', true, 200, null), (pg_temp.id(4), null, 'english', false, 200, '2026-02-02'),
  (pg_temp.id(5), 'lowered', 'simple', false, 1, null);
insert into memstore.embedding_models values ('m', 2, false), ('registered', 3, true);
update memstore.settings set maximum_attached = 7, system_recall_enabled = true;
