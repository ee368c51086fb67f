-- What: which accounts a bound role reaches, and what each role was granted; row-level security that reads the first
-- before the setting memstore.actor.
-- Why: a role that may call the functions may name any account, so one agent's login has to have another right; and
-- privileges on functions end with the functions, which every rollback drops.
-- Locks: users, memories and memory_admissions, against reads and writes, and only for the moment, for their policies.
-- A view of yours over one of them shows an account's rows by the setting memstore.actor to readers alone who may read
-- the table themselves. Clients: earlier ones keep working.

-- At once and in the order of an application's writes: a foreign key's lock, made stronger by a policy's, would deadlock.
lock table memstore.users, memstore.memories, memstore.memory_admissions in access exclusive mode;

create table memstore.account_roles (
  role name not null,
  user_id uuid not null,
  constraint account_roles_pkey primary key (role, user_id),
  constraint account_roles_user_id_fkey foreign key (user_id) references memstore.users (id) on delete cascade,
  constraint account_roles_role_shape check (role <> '')
);
create index account_roles_user_id_idx on memstore.account_roles (user_id);

comment on table memstore.account_roles is 'Which accounts a bound role reaches: its my_ functions act for these alone.';
comment on column memstore.account_roles.role is 'The role, by its name: one that is renamed reaches nothing.';
comment on column memstore.account_roles.user_id is 'The account.';
comment on constraint account_roles_user_id_fkey on memstore.account_roles is 'The account exists.';
comment on constraint account_roles_role_shape on memstore.account_roles is 'A role has a name.';
comment on index memstore.account_roles_user_id_idx is 'The bindings of an account, for its erasure.';

-- The policies of other tables read it as the reader, so everybody may, and sees his own bindings.
alter table memstore.account_roles enable row level security;
grant select on memstore.account_roles to public;

create policy account_roles_of_role on memstore.account_roles
for select
using (role = current_user);

comment on policy account_roles_of_role on memstore.account_roles is 'A reader sees the accounts of the current role.';

create table memstore.api_roles (
  role name not null,
  bundle text,
  functions text[] default '{}',
  known text[] default '{}',
  constraint api_roles_pkey primary key (role),
  constraint api_roles_role_shape check (role <> ''),
  constraint api_roles_bundle_shape check (bundle in ('all', 'write', 'read', 'bound')),
  constraint api_roles_functions_shape
    check (functions is not null and pg_catalog.array_position(functions, null) is null),
  constraint api_roles_known_shape
    check (known is not null and pg_catalog.array_position(known, null) is null)
);

comment on table memstore.api_roles is 'What each role was granted: what an installation grants again where functions were dropped.';
comment on column memstore.api_roles.role is 'The role, by its name.';
comment on column memstore.api_roles.bundle is 'What grant_api granted: all, write or read; bound: by bind_role; NULL: by hand, which is never added to.';
comment on column memstore.api_roles.functions is 'The functions that the role could execute when it was last read.';
comment on column memstore.api_roles.known is 'The functions that its bundle has had: what is not among them is new, and is granted.';
comment on constraint api_roles_role_shape on memstore.api_roles is 'A role has a name.';
comment on constraint api_roles_bundle_shape on memstore.api_roles is 'What was granted is all, write, read or bound, or was granted by hand.';
comment on constraint api_roles_functions_shape on memstore.api_roles is 'The functions that a role could execute have names.';
comment on constraint api_roles_known_shape on memstore.api_roles is 'The functions of a bundle have names.';

create function memstore.note_grants()
returns void
language plpgsql
volatile
security invoker
set search_path = pg_catalog, pg_temp
as $$
begin
  lock table memstore.api_roles in share row exclusive mode;
  with held as (
    select r.rolname as role, array_agg(p.proname::text) as names
    from pg_proc p
    cross join aclexplode(p.proacl) a
    join pg_roles r on r.oid = a.grantee
    where p.pronamespace = 'memstore'::regnamespace
    and a.grantee <> p.proowner
    group by r.rolname
  ),
  functions as (
    select p.proname::text as name
    from pg_proc p
    where p.pronamespace = 'memstore'::regnamespace
    and p.proacl is not null
  )
  insert into memstore.api_roles as k (role, functions)
  select coalesce(h.role, o.role), array(
    select unnest(h.names)
    union
    -- What was dropped, or restored without privileges, was not revoked from the role.
    select n.name
    from unnest(o.functions) n (name)
    where n.name not in (select f.name from functions f)
    order by 1
  )
  from held h
  full join memstore.api_roles o on o.role = h.role
  on conflict on constraint api_roles_pkey do update set functions = excluded.functions
  where k.functions <> excluded.functions;

  delete from memstore.api_roles k
  where k.bundle is null
  and k.functions = '{}';
end
$$;

revoke all on function memstore.note_grants() from public;
comment on function memstore.note_grants() is 'Records which functions each role can execute by a grant of its own.';

-- As it was, and it notes the grants that end with the functions.
create or replace function memstore.drop_code()
returns void
language plpgsql
volatile
security invoker
set search_path = pg_catalog, pg_temp
as $$
declare
  v_statement text;
begin
  perform memstore.note_grants();
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
    and p.proname not in (
      'drop_code', 'note_grants', 'languages', 'trim_text', 'lexemes', 'lexeme_set', 'evidence_is_valid', 'is_language',
      'is_short', 'body_is_valid', 'embedding_is_valid', 'slug_is_valid', 'stance_is_valid'
    )
    having count(*) > 0
  loop
    execute v_statement;
  end loop;
  delete from memstore.deployment where name = 'sql';
end
$$;

-- Earlier versions granted all or, by hand, a part: a role that can execute every function of their API gets what is
-- new in it, as it would have got it from them.
do $$
begin
  perform memstore.note_grants();
  with api as (
    select array_agg(p.proname::text) as names
    from pg_catalog.pg_proc p
    where p.pronamespace = 'memstore'::regnamespace
    and p.proname in (
      'help', 'schema_version', 'create_user', 'delete_user', 'find_user', 'delete_memory', 'export_account',
      'export_memories', 'find_ids', 'get_memory', 'insert_memories', 'insert_memory', 'list_memories', 'list_rules',
      'memories_as_of', 'memory_history', 'memory_violations', 'set_embedding', 'supersede_memory', 'supersede_with',
      'rank_claims', 'rank_memories', 'recall', 'challenge_memory', 'list_claims', 'list_records', 'memory_status',
      'promote_memory', 'record_admission', 'refute_challenge'
    )
  )
  update memstore.api_roles k
  set bundle = 'all', known = a.names
  from api a
  where k.functions @> a.names;
end
$$;

-- The binding comes before the setting, and the setting counts for those alone who can read the table themselves: in a
-- view, current_user is the view's reader, who may have made common cause with a bound role that owns it. Where the
-- bindings can't be read, since their own policy is missing, the setting doesn't count either.
do $$
declare
  v_table text;
  v_field text;
begin
  for v_table, v_field in
    values ('users', 'id'), ('memories', 'user_id'), ('memory_admissions', 'user_id')
  loop
    execute format(
      $f$
alter policy %1$I on memstore.%2$I using (
  %3$I = any (array(
    select r.user_id
    from memstore.account_roles r
    where r.role = current_user
    union all
    select nullif(pg_catalog.current_setting('memstore.actor', true), '')::uuid
    where not exists (select from memstore.account_roles r where r.role = current_user)
    and exists (select from pg_catalog.pg_policy p where p.polrelid = 'memstore.account_roles'::regclass)
    and pg_catalog.has_any_column_privilege(%4$L::regclass, 'select')
  ))
)
$f$,
      v_table || '_of_actor',
      v_table,
      v_field,
      'memstore.' || v_table
    );
  end loop;
end
$$;

comment on policy users_of_actor on memstore.users is 'A reader sees the accounts that the current role is bound to, else the one in the setting memstore.actor.';
comment on policy memories_of_actor on memstore.memories is 'A reader sees the memories of the accounts that the current role is bound to, else of the one in the setting memstore.actor.';
comment on policy memory_admissions_of_actor on memstore.memory_admissions is 'A reader sees the records by the accounts that the current role is bound to, else by the one in the setting memstore.actor.';

insert into memstore.deployment (name) values ('0014-roles');
