-- Reads a JSON array of objects as rows, as they would be stored, with the items' positions from 1 and increasing
-- times. The keys are the arguments of insert_memory or, with_history, all columns but the account and the generated
-- ones. An unknown key or a value of another type is refused with the item's position; the rules of the table are not
-- checked.
create or replace function memstore.read_memories(
  actor memstore.users,
  memories jsonb,
  with_history boolean default false
)
returns table (item bigint, candidate memstore.memories)
language plpgsql
volatile
security invoker
set standard_conforming_strings = on
as $$
declare
  -- The known keys with their types.
  v_types jsonb := (
    select jsonb_object_agg(c.name, c.type)
    from memstore.memory_columns c
    where not c.generated
    and c.name <> 'user_id'
    and (with_history or exists (
      select from pg_proc p
      where p.proname = 'insert_memory'
      and p.pronamespace = 'memstore'::regnamespace
      and c.name = any (p.proargnames)
    ))
  );
  v_started timestamptz := clock_timestamp();
  v_item bigint;
  v_field text;
  v_wanted text;
  v_row record;
  v_given memstore.memories;
begin
  if coalesce(jsonb_typeof(memories), '') <> 'array' then
    perform memstore.refuse_argument('memories', 'an array of objects');
  end if;
  if jsonb_array_length(memories) > 10000 then
    perform memstore.refuse_argument('memories', 'an array of at most 10000 objects');
  end if;

  select i.position
  into v_item
  from jsonb_array_elements(memories) with ordinality i (value, position)
  where jsonb_typeof(i.value) <> 'object'
  order by i.position
  limit 1;
  if found then
    perform memstore.refuse('argument_invalid', 'memories', 'Item ' || v_item, 'Each item must be an object.');
  end if;
  select i.position, k.field, k.wanted
  into v_item, v_field, v_wanted
  from jsonb_array_elements(memories) with ordinality i (value, position)
  cross join jsonb_each(i.value) f
  cross join lateral (
    select
      f.key as field,
      v_types ->> f.key as wanted,
      jsonb_typeof(f.value) as type,
      f.value #>> '{}' as content
  ) k
  where k.wanted is null
  or k.type <> 'null'
  and not case k.wanted
    when 'text' then k.type = 'string'
    when 'jsonb' then true
    when '_float4' then
      k.type = 'array'
      and not jsonb_path_exists(f.value, 'strict $[*] ? (@.type() != "number" && @.type() != "null")')
    when 'uuid' then
      k.type = 'string'
      and k.content ~ '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$'
    when 'date' then k.type = 'string' and memstore.is_date(k.content)
    when 'timestamptz' then
      k.type = 'string'
      and substr(k.content, 11)
        ~ '^[T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?(Z|[+-](0\d|1[0-4])(:?[0-5]\d)?)$'
      and memstore.is_date(left(k.content, 10))
  end is true
  order by i.position, k.field
  limit 1;
  if found then
    if v_wanted is null then
      -- It doesn't name the unknown key, which could be text of a memory.
      perform memstore.refuse(
        'argument_invalid',
        'memories',
        'Item ' || v_item,
        format(
          'Each key must be one of: %s.',
          (select string_agg(k.name, ', ' order by k.name) from jsonb_object_keys(v_types) k (name))
        )
      );
    end if;
    perform memstore.refuse_argument(
      v_field,
      case v_wanted
        when 'text' then 'a string'
        when '_float4' then 'an array of numbers'
        when 'uuid' then 'a UUID'
        when 'date' then 'a date such as 2026-12-31'
        when 'timestamptz' then 'a time such as 2026-12-31T23:59:59Z'
      end,
      'Item ' || v_item
    );
  end if;

  for v_row in
    select
      i.position,
      jsonb_populate_record(null::memstore.memories, i.value - 'embedding') as given,
      case
        -- The usual numbers all at once. A longer run of digits may be beyond a real's range, and its cast fail.
        when jsonb_typeof(i.value -> 'embedding') = 'array' and (i.value ->> 'embedding') !~ '[0-9]{38}'
          then translate(i.value ->> 'embedding', '[]', '{}')::real[]
        when jsonb_typeof(i.value -> 'embedding') = 'array' then (
          -- The cast fails beyond a real's range: too large a number becomes infinity, which the rule refuses, and
          -- too small a one zero. 1e-45 is the smallest real.
          select coalesce(
            array_agg(
              case
                when abs(n.number) > 1e7 then 'infinity'::real
                when abs(n.number) < 1e-45 then 0::real
                else n.number::real
              end
              order by e.position
            ),
            '{}'
          )
          from jsonb_array_elements(i.value -> 'embedding') with ordinality e (value, position)
          cross join lateral (select nullif(e.value, 'null')::numeric as number) n
        )
      end as embedding
    from jsonb_array_elements(memories) with ordinality i (value, position)
    order by i.position
  loop
    item := v_row.position;
    v_given := v_row.given;
    v_given.embedding := v_row.embedding;
    v_given.inserted_at := coalesce(v_given.inserted_at, v_started + item * interval '1 microsecond');
    candidate := memstore.new_memory(actor, v_given);
    return next;
  end loop;
end
$$;

comment on function memstore.read_memories(memstore.users, jsonb, boolean) is
  'Reads a JSON array of objects as rows, as they would be stored.';
