-- Prints the script that creates the proxy's API; sql/scaling.md has the commands. The operator runs it on the claims
-- shard, from whose catalog it takes functions, arguments, results and types, so that they can't differ.
--
-- accounts.f and claims.f run f on a shard. memstore.f chooses which, and raises the shard's refusals again. Which shard
-- is right nobody but a person can say, so each function has a place below, and nothing is printed while one has none.
-- The API of bound roles (my_…) has none by its kind: on the proxy, memstore_proxy owns what calls the shards.
\set ON_ERROR_STOP on

create temporary table functions as
select
  p.oid,
  p.proname,
  format('(%s) returns %s', pg_get_function_arguments(p.oid), pg_get_function_result(p.oid)) as signature,
  pg_get_function_identity_arguments(p.oid) as arguments,
  case p.provolatile when 'v' then 'volatile' else 'stable' end as volatility,
  (
    select
      case
        -- The directory first: it decides which account has an external_ref. A call that fails between is repeated.
        when p.proname = 'create_user' then 'return accounts.create_user(claims.create_user($1, $2, $3), $2, $3);'

        -- The directory last: until then the account is found, so a call that fails between can be repeated.
        when p.proname = 'delete_user' then $$
  declare
    v_deleted bigint := 0;
  begin
    begin
      v_deleted := accounts.delete_user($1);
    exception when sqlstate 'MS001' then
      null;
    end;
    return v_deleted + claims.delete_user($1);
  end;$$

        -- The claims' shard or the account's, by the bucket.
        when p.proname in ('insert_memory', 'list_memories', 'search_memories') then format($$
  if bucket like '%%system%%' then
    %s
  else
    %s
  end if;$$, c.on_claims, c.on_account)

        -- An account's own are on both shards, claims and challenges on one.
        when p.proname = 'find_ids' then format($$
  if coalesce(kind, 'memory') = 'memory' then
    %s
  end if;
  %s$$, c.on_account, c.on_claims)

        when p.proname = 'insert_memories' then format($$
  if not memories @? '$[*] ? (@.bucket like_regex "system")' then
    %s
  elsif memories @? '$[*] ? (!(@.bucket like_regex "system"))' then
    raise exception using
      errcode = 'MS012',
      message = 'Claims and other memories are on different shards.',
      hint = 'Insert them by two calls.';
  else
    %s
  end if;$$, c.on_account, c.on_claims)

        -- An id is the account's own, or else a claim's.
        when p.proname in (
          'get_memory', 'memory_history', 'set_embedding', 'supersede_memory', 'delete_memory', 'delete_history'
        ) then format($$
  begin
    %s
  exception when sqlstate 'MS002' or sqlstate 'MS003' then
    %s
  end;$$, c.on_account, c.on_claims)

        -- The account's own, then its claims. A claim's id is on the other shard.
        when p.proname = 'export_memories' then $$
  declare
    v_left integer := coalesce(page_size, 1000);
    v_given integer;
  begin
    begin
      return query select * from accounts.export_memories($1, $2, $3);
      get diagnostics v_given = row_count;
      v_left := v_left - v_given;
      after := null;
    exception when sqlstate 'MS002' then
      null;
    end;
    if v_left > 0 then
      return query select * from claims.export_memories($1, v_left, after);
    end if;
  end;$$

        -- How many there are is the sum of both.
        when p.proname = 'export_account' then $$
  declare
    v_account jsonb := accounts.export_account($1);
    v_claims constant jsonb := claims.export_account($1);
    v_count text;
  begin
    foreach v_count in array array['memories', 'live_memories', 'items'] loop
      v_account := v_account || jsonb_build_object(
        v_count, (v_account ->> v_count)::bigint + (v_claims ->> v_count)::bigint
      );
    end loop;
    return v_account;
  end;$$

        -- The claims follow the account's memories, within the characters that those leave, before the line of what was
        -- left out. Where the claims shard can't be reached, they are missing.
        when p.proname = 'recall' then format($$
  declare
    v_claims record;
    v_lines text[];
    v_own integer;
  begin
    maximum_attached := coalesce(maximum_attached, %s);
    maximum_attached_characters := coalesce(maximum_attached_characters, %s);
    select r.* into memories, dropped, unembedded, backend, note
    from accounts.recall($1, $2, $3, $4, $5, $6, $7, $8) r;
    begin
      select r.memories, r.note into v_claims
      from claims.recall(
        $1, $2, $3, $4, $5,
        $6 - (select coalesce(sum(char_length(m ->> 'body')), 0)::integer from jsonb_array_elements(memories) m),
        $7, $8
      ) r;
    exception when others then
      raise warning 'recall goes without claims: %%', sqlstate;
      return;
    end;
    memories := memories || v_claims.memories;
    v_lines := coalesce(string_to_array(note, E'\n'), '{}');
    v_own := cardinality(v_lines) - (dropped > 0)::integer;
    note := nullif(array_to_string(v_lines[:v_own] || v_claims.note || v_lines[v_own + 1:], E'\n'), '');
  end;$$, s.maximum_attached, s.maximum_attached_characters)

        -- Chains are within a shard.
        when p.proname = 'memory_histories' then $$
  return query
  select * from accounts.memory_histories($1, $2)
  union all
  select * from claims.memory_histories($1, $2)
  order by 1;$$

        -- Stewards are marked on the claims shard, and each shard counts what it has.
        when p.proname = 'get_user' then $$
  declare
    v_claims record;
  begin
    select u.* into external_ref, language, steward, live_memories, maximum_live_memories, inserted_at
    from accounts.get_user($1) u;
    select u.* into v_claims from claims.get_user($1) u;
    steward := v_claims.steward;
    live_memories := live_memories + v_claims.live_memories;
  end;$$

        -- Claims, the directory with its tokens, and what needs no account.
        when p.proname in (
          'challenge_memory', 'count_claims', 'create_login', 'find_user', 'help', 'item_violations', 'list_claims', 'list_own_claims',
          'list_records', 'list_rules', 'list_tokens', 'memory_status', 'memory_violations', 'promote_memory',
          'rank_claims', 'read_json', 'record_admission', 'refute_challenge', 'revoke_token', 'schema_version'
        ) then c.on_claims

        -- The account's own buckets, and its items.
        when p.proname in (
          'delete_expired_items', 'delete_scope', 'explain_recall', 'export_items', 'get_items', 'list_item_namespaces',
          'memories_as_of', 'put_items', 'rank_memories', 'renew_items', 'search_items', 'similar_memories', 'supersede_with'
        ) then c.on_account
      end
    from (
      select
        format(g.call, 'accounts', p.proname, g.given) as on_account,
        format(g.call, 'claims', p.proname, g.given) as on_claims
      from (
        select
          case
            when p.proretset then 'return query select * from %s.%I(%s);'
            when p.proallargtypes is not null then
              'select r.* into '
              || array_to_string(p.proargnames[p.pronargs + 1:], ', ')
              || ' from %s.%I(%s) r;'
            else 'return %s.%I(%s);'
          end as call,
          (select coalesce(string_agg('$' || n, ', '), '') from generate_series(1, p.pronargs) n) as given
      ) g
    ) c
  ) as body
from memstore.api_functions f
join pg_proc p on p.oid = f.signature
cross join memstore.settings s
where p.proname not like 'my\_%';

do $$
begin
  if exists (select from functions f where f.body is null) then
    raise exception using
      message = format(
        'No place for: %s.',
        (select string_agg(f.proname, ', ' order by f.proname) from functions f where f.body is null)
      ),
      hint = 'Say in api.sql on which shard it is called.';
  end if;
end
$$;

select $$
begin;
set local client_min_messages = warning;
do $do$
begin
  if to_regprocedure('proxy.shard_of(uuid)') is null or to_regclass('memstore.users') is not null then
    raise exception 'This database is no proxy: cluster.sql makes one of an empty database.';
  end if;
end
$do$;
drop schema if exists memstore, accounts, claims cascade;
drop view if exists proxy.refusals;
create schema memstore;
create schema accounts;
create schema claims;
$$;

select format(
  'create view proxy.refusals (name, sqlstate) as values %s;',
  string_agg(format('(%L, %L)', r.name, r.sqlstate), ', ')
)
from memstore.refusals r;

select format(
  'create type %s as (%s);',
  c.oid::regclass,
  string_agg(format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod)), ', ' order by a.attnum)
)
from pg_class c
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relnamespace = 'memstore'::regnamespace
and c.relkind = 'c'
group by c.oid
order by c.oid;

select
  format(
    E'create function %s.%I%s language plproxy as $plproxy$ cluster %L; run on %s; target memstore.%I; $plproxy$;\n',
    shards.name, p.proname, p.signature, shards.name, shards.shard, p.proname
  )
from functions p
cross join (values ('accounts', 'proxy.shard_of($1)'), ('claims', '0')) shards (name, shard)
where strpos(p.body, format('%s.%I(', shards.name, p.proname)) > 0
union all
select
  format(
    $$
create function memstore.%1$I%2$s
language plpgsql
%3$s
security definer
set search_path = pg_catalog, pg_temp
as $plpgsql$
declare
  v_detail text;
  v_hint text;
begin
  %4$s
exception when others then
  get stacked diagnostics v_detail = pg_exception_detail, v_hint = pg_exception_hint;
  perform proxy.pass_on(sqlstate, sqlerrm, v_detail, v_hint);
end
$plpgsql$;
alter function memstore.%1$I(%5$s) owner to memstore_proxy;$$,
    p.proname, p.signature, p.volatility, p.body, p.arguments
  )
from functions p;

select $$
revoke execute on all functions in schema memstore, accounts, claims from public;
grant usage on schema memstore, accounts, claims to memstore_proxy;
grant execute on all functions in schema accounts, claims to memstore_proxy;
grant select on proxy.refusals to memstore_proxy;
grant usage on schema memstore to memstore_application;
grant execute on all functions in schema memstore to memstore_application;
commit;
$$;
