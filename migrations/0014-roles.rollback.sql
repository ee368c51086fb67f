select memstore.drop_code();
delete from memstore.deployment where name = '0014-roles';

-- Earlier versions grant the whole API to a role that can execute a function of it: this one stands for the others until
-- one of them is installed.
do $$
declare
  v_roles text;
begin
  select string_agg(quote_ident(k.role), ', ')
  into v_roles
  from memstore.api_roles k
  join pg_catalog.pg_roles r on r.rolname = k.role
  where k.bundle = 'all'
  and k.functions @> k.known;
  if v_roles is not null then
    create function memstore.schema_version()
    returns integer
    language sql
    immutable parallel safe
    security invoker
    as 'select 0';
    revoke all on function memstore.schema_version() from public;
    execute format('grant execute on function memstore.schema_version() to %s', v_roles);
  end if;
end
$$;

alter policy users_of_actor on memstore.users
using (id = nullif(pg_catalog.current_setting('memstore.actor', true), '')::uuid);
alter policy memories_of_actor on memstore.memories
using (user_id = nullif(pg_catalog.current_setting('memstore.actor', true), '')::uuid);
alter policy memory_admissions_of_actor on memstore.memory_admissions
using (user_id = nullif(pg_catalog.current_setting('memstore.actor', true), '')::uuid);
comment on policy users_of_actor on memstore.users is 'A reader sees the account in the setting memstore.actor.';
comment on policy memories_of_actor on memstore.memories is 'A reader sees the memories of the account in the setting memstore.actor.';
comment on policy memory_admissions_of_actor on memstore.memory_admissions is 'A reader sees the records by the account in the setting memstore.actor.';

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
      'drop_code', 'languages', 'trim_text', 'lexemes', 'lexeme_set', 'evidence_is_valid', 'is_language', 'is_short',
      'body_is_valid', 'embedding_is_valid', 'slug_is_valid', 'stance_is_valid'
    )
    having count(*) > 0
  loop
    execute v_statement;
  end loop;
  delete from memstore.deployment where name = 'sql';
end
$$;

drop function memstore.note_grants();
drop table memstore.api_roles;
drop table memstore.account_roles;
