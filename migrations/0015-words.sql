-- What: comments that say what the row named words of memstore.deployment is for: which dictionaries made the lexemes.
-- Why: stemmers change with PostgreSQL's major version, and nothing told that stored lexemes were another version's.
-- Locks: the table deployment, against migrations and VACUUM alone, and only for the moment. Clients: earlier ones keep
-- working.

comment on table memstore.deployment is
  'What is installed: one row for each migration, one named sql for the code layer, and one named words for the dictionaries that made the lexemes.';
comment on column memstore.deployment.name is 'The migration''s file name without its ending, or sql, or words.';
comment on column memstore.deployment.checksum is
  'SHA-256 of the file, of all of sql/, or of what the dictionaries make of some words, in hexadecimal; NULL until the loader has seen the file.';

insert into memstore.deployment (name) values ('0015-words');
