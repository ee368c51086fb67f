-- yoyo's own tables (its schema version 2), so that each way to install adopts what another one did, and the records
-- that yoyo lacks of migrations that committed before it was killed.
create table if not exists memstore._yoyo_migration (
  migration_hash varchar(64),
  migration_id varchar(255),
  applied_at_utc timestamp,
  primary key (migration_hash)
);

create table if not exists memstore._yoyo_log (
  id varchar(36),
  migration_hash varchar(64),
  migration_id varchar(255),
  operation varchar(10),
  username varchar(255),
  hostname varchar(255),
  comment varchar(255),
  created_at_utc timestamp,
  primary key (id)
);

create table if not exists memstore._yoyo_version (
  version int not null primary key,
  installed_at_utc timestamp
);

insert into memstore._yoyo_version (version, installed_at_utc)
select 2, clock_timestamp() at time zone 'UTC'
where not exists (select from memstore._yoyo_version);

do $$
begin
  if to_regclass('memstore.deployment') is not null then
    -- yoyo's key is a hash of the migration's name.
    insert into memstore._yoyo_migration (migration_hash, migration_id, applied_at_utc)
    select encode(sha256(convert_to(d.name, 'UTF8')), 'hex'), d.name, d.installed_at at time zone 'UTC'
    from memstore.deployment d
    where d.name not in ('sql', 'words')
    on conflict (migration_hash) do nothing;
  end if;
end
$$;
