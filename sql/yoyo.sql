-- yoyo's own tables (its schema version 2), so that whichever way installs first, the others adopt it; and
-- what a migration recorded of itself while yoyo was killed before it could.
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

create table if not exists memstore.yoyo_lock (
  locked int default 1,
  ctime timestamp,
  pid int not null,
  primary key (locked)
);

insert into memstore._yoyo_version (version, installed_at_utc)
select 2, clock_timestamp() at time zone 'UTC'
where not exists (select from memstore._yoyo_version);

do $$
begin
  if to_regclass('memstore.deployment') is not null then
    -- yoyo hashes a migration's name.
    insert into memstore._yoyo_migration (migration_hash, migration_id, applied_at_utc)
    select encode(sha256(convert_to(d.name, 'UTF8')), 'hex'), d.name, d.installed_at at time zone 'UTC'
    from memstore.deployment d
    where d.name <> 'sql'
    on conflict (migration_hash) do nothing;
  end if;
end
$$;

-- yoyo's lock, held until the caller's transaction or connection lets go of it. Only a yoyo process writes
-- another pid than 0, and while it runs nobody else migrates.
do $$
declare
  v_pid integer;
begin
  insert into memstore.yoyo_lock (locked, ctime, pid)
  values (1, clock_timestamp() at time zone 'UTC', 0)
  on conflict (locked) do update set ctime = excluded.ctime where yoyo_lock.pid = 0
  returning pid into v_pid;
  if v_pid is null then
    raise exception using
      errcode = 'MS022',
      schema = 'memstore',
      constraint = 'yoyo_locked',
      message = 'A yoyo process has locked the migrations.',
      hint = 'Wait for it; if none runs, remove the lock with: yoyo break-lock.';
  end if;
end
$$;
