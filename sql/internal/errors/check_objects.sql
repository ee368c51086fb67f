-- Refuses an argument that is no array of at most 10,000 objects, and of these the first that has an unknown key or a
-- value of another type; with its position, and with no value and no key. NULL passes as a value. So what passes can be
-- cast to its types, where numbers of embeddings are read by read_embedding().
--   argument: its name
--   types: the known keys with their types, as pg_type names them
--   context: the part of the call that the argument is in, such as Item 3, instead of the position
create or replace function memstore.check_objects(argument text, objects jsonb, types jsonb, context text default null)
returns void
language plpgsql
stable
security invoker
set standard_conforming_strings = on
as $$
declare
  v_item bigint;
  v_field text;
  v_wanted text;
begin
  if coalesce(jsonb_typeof(objects), '') <> 'array' then
    perform memstore.refuse_argument(argument, 'an array of objects', context);
  end if;
  if jsonb_array_length(objects) > 10000 then
    perform memstore.refuse_argument(argument, 'an array of at most 10000 objects', context);
  end if;

  if objects @? 'strict $[*] ? (@.type() != "object")' then
    select i.position
    into v_item
    from jsonb_array_elements(objects) with ordinality i (value, position)
    where jsonb_typeof(i.value) <> 'object'
    order by i.position
    limit 1;
    perform memstore.refuse(
      'argument_invalid', argument, coalesce(context, 'Item ' || v_item), 'Each item must be an object.'
    );
  end if;
  select i.position, k.field, k.wanted
  into v_item, v_field, v_wanted
  from jsonb_array_elements(objects) with ordinality i (value, position)
  cross join jsonb_each(i.value) f
  cross join lateral (
    select
      f.key as field,
      types ->> f.key as wanted,
      jsonb_typeof(f.value) as type,
      f.value #>> '{}' as content
  ) k
  where k.wanted is null
  or k.type <> 'null'
  and not case k.wanted
    when 'text' then k.type = 'string'
    when 'jsonb' then true
    when 'bool' then k.type = 'boolean'
    when 'int8' then k.type = 'number' and k.content ~ '^-?\d{1,18}$'
    when 'float8' then k.type = 'number' and abs(k.content::numeric) < 1e15
    when '_float4' then
      k.type = 'array'
      and not jsonb_path_exists(f.value, 'strict $[*] ? (@.type() != "number" && @.type() != "null")')
    when '_text' then
      k.type = 'array'
      and not jsonb_path_exists(f.value, 'strict $[*] ? (@.type() != "string")')
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
        argument,
        coalesce(context, 'Item ' || v_item),
        format(
          'Each key must be one of: %s.',
          (select string_agg(k.name, ', ' order by k.name) from jsonb_object_keys(types) k (name))
        )
      );
    end if;
    perform memstore.refuse_argument(
      v_field,
      case v_wanted
        when 'text' then 'a string'
        when 'bool' then 'true or false'
        when 'int8' then 'a whole number'
        when 'float8' then 'a number'
        when '_float4' then 'an array of numbers'
        when '_text' then 'an array of strings'
        when 'uuid' then 'a UUID'
        when 'date' then 'a date such as 2026-12-31'
        when 'timestamptz' then 'a time such as 2026-12-31T23:59:59Z'
      end,
      coalesce(context, 'Item ' || v_item)
    );
  end if;
end
$$;

comment on function memstore.check_objects(text, jsonb, jsonb, text) is
  'Refuses an argument that is no array of objects with these keys and types.';
