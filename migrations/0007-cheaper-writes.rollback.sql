select memstore.drop_code();
delete from memstore.deployment where name = '0007-cheaper-writes';
alter table memstore.memories reset (toast_tuple_target);
alter table memstore.memories drop constraint memories_language_shape,
  add constraint memories_language_shape check (language is not null and language = any (memstore.languages()));
comment on constraint memories_language_shape on memstore.memories is 'The language is one of PostgreSQL''s text search configurations.';
alter table memstore.users drop constraint users_language_shape,
  add constraint users_language_shape check (language is not null and language = any (memstore.languages()));
comment on constraint users_language_shape on memstore.users is 'The language is one of PostgreSQL''s text search configurations.';
