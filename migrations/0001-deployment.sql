-- What: the schema, the record of what is installed, and the way to take the code layer down.
-- Why: the three ways to install (memstore migrate, yoyo, psql) adopt each other's work through this record.
-- Locks: nothing that exists. Clients: there is no earlier one.

create schema if not exists memstore;

do $$
begin
  if pg_catalog.current_setting('server_encoding') <> 'UTF8' then
    raise exception using
      errcode = 'MS000',
      constraint = 'encoding_unsupported',
      message = 'The database is not encoded in UTF8.',
      hint = 'Create one with: create database memory encoding ''UTF8'' template template0.';
  end if;
  if pg_catalog.current_setting('server_version_num')::integer < 150000 then
    raise exception using
      errcode = 'MS000',
      constraint = 'version_unsupported',
      message = 'The server is older than PostgreSQL 15.',
      hint = 'Use PostgreSQL 15 or newer.';
  end if;
end
$$;

comment on schema memstore is 'The memory of AI agents: accounts, memories, and the rules that they obey.';

create table memstore.deployment (
  name text not null,
  checksum text,
  installed_at timestamptz not null default pg_catalog.clock_timestamp(),
  constraint deployment_pkey primary key (name),
  constraint deployment_name_shape check (pg_catalog.char_length(name) between 1 and 200),
  constraint deployment_checksum_shape check (checksum operator(pg_catalog.~) '^[0-9a-f]{64}$')
);

comment on table memstore.deployment is 'What is installed: one row for each migration, and one named sql for the code layer.';
comment on column memstore.deployment.name is 'The migration''s file name without its ending, or sql.';
comment on column memstore.deployment.checksum is 'SHA-256 of the file, or of all of sql/, in hexadecimal; NULL until the loader has seen the file.';
comment on column memstore.deployment.installed_at is 'When it was installed.';
comment on constraint deployment_name_shape on memstore.deployment is 'A name has 1 to 200 characters.';
comment on constraint deployment_checksum_shape on memstore.deployment is 'A checksum is a SHA-256 in lowercase hexadecimal digits.';

create function memstore.drop_code()
returns void
language plpgsql
volatile
security invoker
set search_path = pg_catalog, pg_temp
as $$
declare
  v_statement text;
begin
  for v_statement in
    select format('drop trigger %I on %s', t.tgname, t.tgrelid::regclass)
    from pg_trigger t
    join pg_class c on c.oid = t.tgrelid
    where c.relnamespace = 'memstore'::regnamespace
    and not t.tgisinternal
  loop
    execute v_statement;
  end loop;
  for v_statement in
    select format('drop view %s', string_agg(c.oid::regclass::text, ', '))
    from pg_class c
    where c.relnamespace = 'memstore'::regnamespace
    and c.relkind = 'v'
    having count(*) > 0
  loop
    execute v_statement;
  end loop;
  -- A function that a constraint or a generated column uses came with a migration, and stays.
  for v_statement in
    select format('drop routine %s', string_agg(p.oid::regprocedure::text, ', '))
    from pg_proc p
    where p.pronamespace = 'memstore'::regnamespace
    and p.proname not in ('drop_code', 'languages', 'trim_text', 'lexemes', 'evidence_is_valid')
    having count(*) > 0
  loop
    execute v_statement;
  end loop;
  delete from memstore.deployment where name = 'sql';
end
$$;

revoke all on function memstore.drop_code() from public;
comment on function memstore.drop_code() is 'Takes down all that sql/ creates, so that a migration can be rolled back. The next migrate loads it again.';

insert into memstore.deployment (name) values ('0001-deployment');
