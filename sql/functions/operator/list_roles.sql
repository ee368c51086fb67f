create or replace function memstore.list_roles()
returns table (
  role text,
  bundle text,
  accounts uuid[],
  held integer,
  lacking text[],
  extra text[],
  members_of text[],
  beyond text[]
)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
list_roles: lists the roles that can execute functions of the schema, and what each was granted.

Example:
  create role memory_reader;
  select memstore.grant_api('memory_reader', 'read');
  revoke execute on function memstore.export_memories from memory_reader;
  select bundle, lacking, extra from memstore.list_roles() where role = 'memory_reader';
Result:
  read|{export_memories}|{}

Operator only. Also roles that have been dropped and are still recorded, which hold nothing; and those that can execute
functions as members of others alone. Superusers are left out.

Columns
  role        the role
  bundle      what it was granted: all, write or read by grant_api, bound by bind_role, serve by
              grant_serve, or by hand; dropped where there is no such role; NULL where it has no
              grant itself
  accounts    the accounts that it is bound to
  held        how many functions it can execute by a grant of its own
  lacking     the functions of the bundle that it was granted none of
  extra       functions beside the bundle that it was granted
  members_of  the roles that hold functions, or own the schema, and that it is a member of
  beyond      of a bound role, the roles by which it reaches more than its accounts: itself, or
              those that it is a member of
Returns
  one row for each role, in the order of their names
Errors
  none
*/
begin
  return query
  with recursive
  holdings as materialized (
    select r.rolname as role, array_agg(distinct p.proname::text) as functions
    from pg_proc p
    cross join aclexplode(p.proacl) a
    join pg_roles r on r.oid = a.grantee
    where p.pronamespace = 'memstore'::regnamespace
    and a.grantee <> p.proowner
    group by r.rolname
  ),
  sources as (
    select h.role
    from holdings h
    union
    select r.rolname
    from pg_namespace n
    join pg_roles r on r.oid = n.nspowner
    where n.nspname = 'memstore'
  ),
  memberships (source, id) as (
    select s.role, r.oid
    from sources s
    join pg_roles r on r.rolname = s.role
    union
    select t.source, m.member
    from memberships t
    join pg_auth_members m on m.roleid = t.id
  ),
  indirect as (
    select r.rolname as role, array_agg(t.source::text order by t.source) as sources
    from memberships t
    join pg_roles r on r.oid = t.id
    where r.rolname <> t.source
    and not r.rolsuper
    group by r.rolname
  ),
  bindings as (
    select b.role, array_agg(b.user_id order by b.user_id) as accounts
    from memstore.account_roles b
    group by b.role
  ),
  reached as (
    select b.role, array_agg(b.through::text order by b.through) as through
    from memstore.reach_beyond(array(select b.role from bindings b)) b
    group by b.role
  ),
  bundled as (
    select b.bundle, array_agg(b.name) as functions
    from memstore.bundles b
    group by b.bundle
  ),
  listed as (
    select h.role from holdings h
    union
    select k.role from memstore.api_roles k
    union
    select b.role from bindings b
    union
    select i.role from indirect i
  )
  select
    l.role::text,
    case
      when not exists (select from pg_roles r where r.rolname = l.role) then 'dropped'
      when k.bundle is not null then k.bundle
      when h.role is not null then 'by hand'
    end,
    coalesce(b.accounts, '{}'),
    coalesce(cardinality(h.functions), 0),
    array(select unnest(u.functions) except select unnest(h.functions) order by 1),
    array(select unnest(h.functions) except select unnest(u.functions) order by 1),
    coalesce(i.sources, '{}'),
    coalesce(r.through, '{}')
  from listed l
  left join holdings h on h.role = l.role
  left join memstore.api_roles k on k.role = l.role
  left join bundled u on u.bundle = k.bundle
  left join bindings b on b.role = l.role
  left join indirect i on i.role = l.role
  left join reached r on r.role = l.role
  order by l.role;
end
$$;
