-- Reads a JSON array of objects as items, as they would be stored, with ids of their own; refuses the first that is of
-- another form or breaks a rule, and two of one path. It comes before any lock. An item that is to be deleted, as an
-- if_version may be given with it, has no value.
--   with_history: whether the items have times, as those of an export, and no if_version
--   checked: whether to check the rules
create or replace function memstore.read_items(
  actor memstore.users,
  items jsonb,
  with_history boolean default false,
  checked boolean default true
)
returns memstore.items[]
language plpgsql
volatile
security invoker
as $$
declare
  v_now timestamptz := clock_timestamp();
  v_items memstore.items[];
  v_given memstore.items;
  v_item bigint;
begin
  perform memstore.check_objects(
    'items',
    items,
    jsonb_build_object(
      'namespace', '_text', 'key', 'text', 'value', 'jsonb', 'indexed', 'bool', 'language', 'text',
      'ttl_seconds', 'float8', 'embeddings', 'jsonb'
    )
    || case
      when with_history then
        '{"expires_at": "timestamptz", "inserted_at": "timestamptz", "updated_at": "timestamptz"}'::jsonb
      else '{"if_version": "int8"}'
    end
  );

  if items @? '$[*] ? (!exists(@.value))' then
    select i.position
    into v_item
    from jsonb_array_elements(items) with ordinality i (value, position)
    where not i.value ? 'value'
    order by i.position
    limit 1;
    perform memstore.refuse_argument('value', 'an object, or null to delete the item', 'Item ' || v_item);
  end if;

  v_items := array(
    select row(
      gen_random_uuid(),
      actor.id,
      g.namespace,
      g.key,
      g.value,
      coalesce(g.indexed, true),
      coalesce(g.language, actor.language),
      g.ttl_seconds,
      -- Beyond its rule a time to live can be longer than time is.
      case
        when g.expires_at is not null then g.expires_at
        when g.ttl_seconds is not null then v_now + least(greatest(g.ttl_seconds, 0), 1e10) * interval '1 second'
      end,
      1,
      coalesce(g.inserted_at, g.updated_at, v_now),
      coalesce(g.updated_at, greatest(g.inserted_at, v_now)),
      null
    )::memstore.items
    from rows from (
      jsonb_to_recordset(items) as (
        namespace text[], key text, value jsonb, indexed boolean, language text, ttl_seconds double precision,
        expires_at timestamptz, inserted_at timestamptz, updated_at timestamptz
      )
    ) with ordinality g
    order by g.ordinality
  );

  if not checked then
    return v_items;
  end if;
  v_item := 0;
  foreach v_given in array v_items loop
    v_item := v_item + 1;
    v_given.value := coalesce(v_given.value, '{}');
    if not memstore.items_obey(v_given) then
      perform memstore.refuse_row('items', memstore.items_broken(v_given), 'Item ' || v_item);
    end if;
  end loop;

  if cardinality(v_items) < 2 then
    return v_items;
  end if;
  select d.ordinality
  into v_item
  from (
    select i.ordinality, row_number() over (partition by i.namespace, i.key order by i.ordinality) as place
    from unnest(v_items) with ordinality i
  ) d
  where d.place > 1
  order by d.ordinality
  limit 1;
  if found then
    perform memstore.refuse('argument_invalid', 'items', 'Item ' || v_item, 'An earlier item has the same path.');
  end if;
  return v_items;
end
$$;

comment on function memstore.read_items(memstore.users, jsonb, boolean, boolean) is
  'Reads a JSON array of objects as items, as they would be stored.';
