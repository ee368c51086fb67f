create or replace function memstore.store_statistics()
returns table (name text, labels jsonb, value double precision, exact boolean)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
store_statistics: returns figures of the whole store, for monitoring.

Example:
  select labels ->> 'bucket', labels ->> 'state', value
  from memstore.store_statistics()
  where name = 'memories' and labels ->> 'bucket' <> 'learned';
Result:
  user|live|1
  user|superseded|0
  system|live|1
  system|superseded|0
  system|tombstone|0

Operator only. One row a figure, with labels as Prometheus has them, so that an exporter can pass them on. No text of a
memory is in it; accounts appear by id, and only the fullest ones.

It may be called every minute: in a store of 1.3 million memories it takes 0.2 s. Counts that need a scan of the
memories are exact up to about 32 MB (some 50,000 rows), and beyond that estimated from a random sample of as many
pages; exact then is false. Estimates are mostly within 5 %, and coarser for what is rare. Other figures are read from
the accounts, the live claims and PostgreSQL's own counters.

Figures
  schema_version
  accounts {state}                       active, erased
  stewards
  accounts_near_ceiling                  those that hold 90 % of their ceiling or more
  account_fullness {account}             live memories / ceiling, of the 20 fullest of these
  memories {bucket, state}               live, superseded, tombstone
  items                                  of all accounts, with those that have expired
  unembedded_memories                    live ones, tombstones aside, that have no embedding
  unembedded_memories {model}            that have none of this model; of the 20 most used models
  claims {status}                        live ones: candidate, admitted, rejected, suspended
  open_challenges {state}                effective: it suspends its claim
                                         queued: its author's share is used up, or an earlier one
                                         of the author's against the claim counts
                                         not_admitted: its claim is not admitted
                                         unevidenced
  oldest_open_challenge_seconds {state}  of each state that there is
  table_bytes {table}                    with TOAST, without indexes
  live_rows, dead_rows {table}           as PostgreSQL's counters have them, like all that follows
  row_updates, hot_row_updates {table}   hot: without a change of an index
  sequential_scans {table}
  seconds_since_vacuum {table}           by autovacuum or by hand; absent where there was none
  seconds_since_analyze {table}          likewise
  index_bytes, index_scans {table, index}
  setting {name}                         as configure has them; 1 is on
Returns
  name, labels, value, and whether the value is exact
Errors
  none
*/
declare
  c_pages constant bigint := 4096::bigint;
  v_pages bigint := pg_relation_size('memstore.memories') / current_setting('block_size')::bigint;
  v_percent double precision := least(100, 100::double precision * c_pages / greatest(v_pages, 1));
  v_exact boolean := v_percent = 100;
  v_live bigint := (select coalesce(sum(u.live_memories), 0) from memstore.users u);
begin
  return query
  with
  sampled as materialized (
    select
      m.bucket,
      case
        when m.superseded_at is not null then 'superseded'
        when m.promoted then 'tombstone'
        else 'live'
      end as state,
      m.embedding_model as model,
      count(*) as number
    from memstore.memories m tablesample system (v_percent)
    group by 1, 2, 3
  ),
  -- The number of live memories is known from the accounts; the sample gives the proportions.
  scale as (
    select case
      when v_exact then 1
      else coalesce(v_live / nullif(sum(s.number) filter (where s.state = 'live'), 0), 100 / v_percent)
    end::double precision as factor
    from sampled s
  ),
  near_ceiling as (
    select
      u.id,
      case
        when u.maximum_live_memories = 0 then 1
        else u.live_memories::float8 / u.maximum_live_memories
      end as fullness
    from memstore.users u
    where u.erased_at is null
    and u.live_memories >= 0.9 * u.maximum_live_memories
  ),
  models as (
    select e.name, coalesce(sum(s.number) filter (where s.state = 'live'), 0) as number
    from memstore.embedding_models e
    left join sampled s on s.model = e.name
    -- Not a model that items alone have.
    where e.registered
    or s.model is not null
    or not exists (select from memstore.item_embeddings i where i.embedding_model = e.name)
    group by e.name
    order by 2 desc, 1
    limit 20
  ),
  live_claims as (
    select coalesce(s.status, 'candidate') as status, count(*) as number
    from memstore.memories m
    left join memstore.claim_statuses s on s.memory_id = m.id
    where m.bucket = 'system'
    and m.superseded_at is null
    and not m.promoted
    group by 1
  ),
  challenges as (
    select
      case
        when o.effective then 'effective'
        when not o.evidenced then 'unevidenced'
        when s.verdict = 'admitted' then 'queued'
        else 'not_admitted'
      end as state,
      count(*) as number,
      min(o.inserted_at) as oldest
    from memstore.open_challenges o
    left join memstore.claim_statuses s on s.memory_id = o.memory_id
    group by 1
  ),
  tables as (
    select t.*
    from pg_stat_all_tables t
    where t.schemaname = 'memstore'
    and t.relname !~ 'yoyo'
  ),
  indexes as (
    select i.*
    from pg_stat_all_indexes i
    where i.schemaname = 'memstore'
    and i.relname !~ 'yoyo'
  ),
  figures (area, name, labels, value, exact) as (
    select 1, 'schema_version', '{}'::jsonb, memstore.schema_version()::float8, true

    union all
    select 2, 'accounts', jsonb_build_object('state', 'active'), count(*) filter (where u.erased_at is null), true
    from memstore.users u
    union all
    select 2, 'accounts', jsonb_build_object('state', 'erased'), count(*) filter (where u.erased_at is not null), true
    from memstore.users u
    union all
    select 3, 'stewards', '{}', count(*), true
    from memstore.users u
    where u.steward
    union all
    select 4, 'accounts_near_ceiling', '{}', count(*), true
    from near_ceiling n
    union all (
      select 5, 'account_fullness', jsonb_build_object('account', n.id), n.fullness, true
      from near_ceiling n
      order by n.fullness desc, n.id
      limit 20
    )

    union all
    select 6, 'memories', jsonb_build_object('bucket', b.bucket, 'state', b.state),
      round(coalesce(sum(s.number), 0) * max(f.factor)), v_exact
    from (
      values ('user', 'live'), ('user', 'superseded'), ('learned', 'live'), ('learned', 'superseded'),
        ('system', 'live'), ('system', 'superseded'), ('system', 'tombstone')
    ) b (bucket, state)
    cross join scale f
    left join sampled s on s.bucket = b.bucket and s.state = b.state
    group by b.bucket, b.state
    union all
    select 6, 'items', '{}', coalesce(sum(u.stored_items), 0), true
    from memstore.users u
    union all
    select 7, 'unembedded_memories', '{}', round(coalesce(sum(s.number), 0) * max(f.factor)), v_exact
    from scale f
    left join sampled s on s.state = 'live' and s.model is null
    union all
    select 7, 'unembedded_memories', jsonb_build_object('model', m.name),
      greatest(v_live - round(m.number * f.factor), 0), v_exact
    from models m
    cross join scale f

    union all
    select 8, 'claims', jsonb_build_object('status', k.status), coalesce(c.number, 0), true
    from (values ('candidate'), ('admitted'), ('rejected'), ('suspended')) k (status)
    left join live_claims c on c.status = k.status
    union all
    select 9, 'open_challenges', jsonb_build_object('state', k.state), coalesce(c.number, 0), true
    from (values ('effective'), ('queued'), ('not_admitted'), ('unevidenced')) k (state)
    left join challenges c on c.state = k.state
    union all
    select 10, 'oldest_open_challenge_seconds', jsonb_build_object('state', c.state),
      floor(greatest(extract(epoch from clock_timestamp() - c.oldest), 0)), true
    from challenges c

    union all
    select 11, 'table_bytes', jsonb_build_object('table', t.relname), pg_table_size(t.relid), true
    from tables t
    union all
    select 12, 'live_rows', jsonb_build_object('table', t.relname), t.n_live_tup, false
    from tables t
    union all
    select 13, 'dead_rows', jsonb_build_object('table', t.relname), t.n_dead_tup, false
    from tables t
    union all
    select 14, 'row_updates', jsonb_build_object('table', t.relname), t.n_tup_upd, false
    from tables t
    union all
    select 15, 'hot_row_updates', jsonb_build_object('table', t.relname), t.n_tup_hot_upd, false
    from tables t
    union all
    select 16, 'sequential_scans', jsonb_build_object('table', t.relname), t.seq_scan, false
    from tables t
    union all
    select 17, 'seconds_since_vacuum', jsonb_build_object('table', t.relname),
      floor(extract(epoch from clock_timestamp() - greatest(t.last_vacuum, t.last_autovacuum))), true
    from tables t
    where coalesce(t.last_vacuum, t.last_autovacuum) is not null
    union all
    select 18, 'seconds_since_analyze', jsonb_build_object('table', t.relname),
      floor(extract(epoch from clock_timestamp() - greatest(t.last_analyze, t.last_autoanalyze))), true
    from tables t
    where coalesce(t.last_analyze, t.last_autoanalyze) is not null
    union all
    select 19, 'index_bytes', jsonb_build_object('table', i.relname, 'index', i.indexrelname),
      pg_relation_size(i.indexrelid), true
    from indexes i
    union all
    select 20, 'index_scans', jsonb_build_object('table', i.relname, 'index', i.indexrelname), i.idx_scan, false
    from indexes i

    union all
    select 21, 'setting', jsonb_build_object('name', s.key),
      case s.value when 'true' then 1 when 'false' then 0 else s.value::text::float8 end, true
    from memstore.settings c
    cross join jsonb_each(to_jsonb(c)) s
    where s.key <> 'singleton'
  )
  select f.name, f.labels, f.value::float8, f.exact
  from figures f
  -- Within an area, states and statuses come in the order in which the header lists them.
  order by
    f.area,
    f.labels ->> 'table',
    array_position('{user,learned,system}'::text[], f.labels ->> 'bucket'),
    array_position(
      '{live,superseded,tombstone,candidate,admitted,rejected,suspended}'::text[]
        || '{effective,queued,not_admitted,unevidenced}'::text[],
      coalesce(f.labels ->> 'state', f.labels ->> 'status')
    ),
    case f.name when 'account_fullness' then -f.value end,
    f.labels <> '{}',
    f.labels::text;
end
$$;
