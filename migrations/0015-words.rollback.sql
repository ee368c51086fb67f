select memstore.drop_code();
delete from memstore.deployment where name in ('0015-words', 'words');
comment on table memstore.deployment is 'What is installed: one row for each migration, and one named sql for the code layer.';
comment on column memstore.deployment.name is 'The migration''s file name without its ending, or sql.';
comment on column memstore.deployment.checksum is 'SHA-256 of the file, or of all of sql/, in hexadecimal; NULL until the loader has seen the file.';
