-- Makes an empty database the proxy of a sharded store, once; sql/scaling.md has the commands. As a superuser: PL/Proxy
-- is no trusted language. Variables: p0, p1 and claims, how libpq finds the shards, and the password of their login.
\set ON_ERROR_STOP on
begin;

create extension plproxy;

-- memstore_proxy owns the functions that call the shards, and only it has the password. Applications are granted
-- memstore_application.
select format('create role %I', r.name)
from unnest(array['memstore_proxy', 'memstore_application']) r (name)
where not exists (select from pg_roles p where p.rolname = r.name)
\gexec

-- The shards of the accounts, whose number is a power of two, and the one of the claims, which also is the directory:
-- it has a row of every account.
create server accounts foreign data wrapper plproxy options (p0 :'p0', p1 :'p1');
create server claims foreign data wrapper plproxy options (p0 :'claims');
create user mapping for memstore_proxy server accounts options (user 'memstore_proxy', password :'password');
create user mapping for memstore_proxy server claims options (user 'memstore_proxy', password :'password');
grant usage on foreign server accounts, claims to memstore_proxy;

create schema proxy;
grant usage on schema proxy to memstore_proxy;

-- The shard of an account: PL/Proxy takes the lowest bits of this number. It is the last 32 bits of the id, which are
-- random in uuids of every version, and not a hash, which another version of PostgreSQL may compute differently.
create function proxy.shard_of(actor uuid)
returns integer
language sql
immutable parallel safe
security invoker
return coalesce(('x' || right(actor::text, 8))::bit(32)::integer, 0);

-- Raises a shard's refusal as the shard did. PL/Proxy passes on the SQLSTATE, and the texts with prefixes of its own;
-- it drops constraint, column and table, and reports a shard that can't be reached as an internal error.
create function proxy.pass_on(state text, message text, detail text, hint text)
returns void
language plpgsql
stable
security invoker
set search_path = pg_catalog, pg_temp
as $$
declare
  v_detail text := regexp_replace(detail, '^Remote detail: ', '');
  v_rule jsonb := case when state = '23514' and v_detail like '[{%' then v_detail::jsonb -> 0 end;
  v_name text := coalesce(v_rule ->> 'name', (select r.name from proxy.refusals r where r.sqlstate = state), '');
begin
  raise exception using
    errcode = case when state = 'XX000' and message ~ '^PL/Proxy function \S+: \[.*?\] PQ' then '08006' else state end,
    message = regexp_replace(message, '^\S+\(\d+\): \[.*?\] REMOTE \w+: ', ''),
    detail = coalesce(v_detail, ''),
    hint = coalesce(regexp_replace(hint, '^Remote hint: ', ''), ''),
    schema = case when v_name = '' then '' else 'memstore' end,
    constraint = v_name,
    column = coalesce(v_rule ->> 'field', ''),
    table = coalesce((regexp_match(v_name, '^(memories|memory_admissions|users)_.*_shape$'))[1], '');
end
$$;

revoke execute on all functions in schema proxy from public;
grant execute on all functions in schema proxy to memstore_proxy;

commit;
