-- What: the record of what is installed has a digest of what the code layer has made.
-- Why: an installation that finds the same code there, unchanged, loads nothing, and so locks nothing.
-- Locks: deployment alone, and only for the moment. Clients: earlier ones keep working.

alter table memstore.deployment
  add column catalog text,
  -- squawk-ignore constraint-missing-not-valid
  add constraint deployment_catalog_shape check (catalog operator(pg_catalog.~) '^[0-9a-f]{64}$');
comment on column memstore.deployment.catalog is 'SHA-256 of the functions, triggers and views as the catalog had them after the code layer loaded, in hexadecimal; NULL of a migration.';
comment on constraint deployment_catalog_shape on memstore.deployment is 'A digest is a SHA-256 in lowercase hexadecimal digits.';

insert into memstore.deployment (name) values ('0016-skipped-loads');
