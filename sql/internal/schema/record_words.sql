-- Records that the stored lexemes are those of this server's dictionaries. The caller has made sure of it.
create or replace function memstore.record_words()
returns void
language sql
volatile
security invoker
set search_path = pg_catalog, pg_temp
as $$
  insert into memstore.deployment (name, checksum)
  values ('words', memstore.probe_words())
  on conflict on constraint deployment_pkey
  do update set checksum = excluded.checksum, installed_at = excluded.installed_at
$$;

comment on function memstore.record_words() is 'Records that the stored lexemes are those of this server''s dictionaries.';
