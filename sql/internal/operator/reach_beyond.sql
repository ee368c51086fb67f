-- By what each of these roles reaches more than the accounts that it is bound to: its own rights, or those of a role that
-- it is a member of, with whatever options: a membership that isn't inherited is used by SET ROLE, and one with
-- the admin option grants itself the others.
create or replace function memstore.reach_beyond(roles name[])
returns table (role name, through name)
language sql
stable
security invoker
set search_path = pg_catalog, pg_temp
as $$
  with recursive
  reached (role, id) as (
    select r.rolname, r.oid
    from pg_roles r
    where r.rolname = any (reach_beyond.roles)
    union
    select c.role, m.roleid
    from reached c
    join pg_auth_members m on m.member = c.id
  ),
  -- Row-level security limits what is read of these.
  limited (id) as (
    select c.oid
    from pg_class c
    where c.oid = any (array[
      'memstore.users', 'memstore.memories', 'memstore.memory_admissions', 'memstore.account_roles'
    ]::regclass[])
  ),
  rights as materialized (
    select
      r.oid as id,
      r.rolname as name,
      -- Superusers, those who can become one or any role, and those for whom no policy holds.
      r.rolsuper or r.rolcreaterole or r.rolbypassrls or r.rolreplication
        or r.rolname in ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files')
        or r.oid = n.nspowner
        or has_schema_privilege(r.oid, n.oid, 'create')
        or exists (
          select
          from pg_proc p
          where p.pronamespace = n.oid
          and has_function_privilege(r.oid, p.oid, 'execute')
          and not exists (select from memstore.bundles b where b.bundle = 'bound' and b.signature = p.oid)
        )
        or exists (
          select
          from pg_class c
          where c.relnamespace = n.oid
          and c.relkind in ('r', 'v', 'm', 'p', 'f')
          and (
            has_any_column_privilege(r.oid, c.oid, 'insert, update, references')
            or has_table_privilege(r.oid, c.oid, 'delete, truncate, trigger')
            or has_any_column_privilege(r.oid, c.oid, 'select') and c.oid not in (select l.id from limited l)
          )
        ) as any_account,
      -- Not bound itself, so the setting memstore.actor counts.
      exists (
        select
        from limited l
        where l.id <> 'memstore.account_roles'::regclass
        and has_any_column_privilege(r.oid, l.id, 'select')
      )
        and not exists (select from memstore.account_roles a where a.role = r.rolname) as account_of_setting
    from pg_roles r
    join pg_namespace n on n.nspname = 'memstore'
    where r.oid in (select c.id from reached c)
  )
  select c.role, t.name
  from reached c
  join rights t on t.id = c.id
  where t.any_account
  or t.name <> c.role
  and (
    t.account_of_setting
    or exists (
      select
      from memstore.account_roles a
      where a.role = t.name
      and not exists (
        select
        from memstore.account_roles o
        where o.role = c.role
        and o.user_id = a.user_id
      )
    )
  )
$$;

comment on function memstore.reach_beyond(name[]) is 'By which roles a bound role reaches more than its accounts.';
