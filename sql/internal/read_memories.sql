-- The rows that a JSON array of objects asks for, with its items' positions from 1. Keys are the arguments of
-- insert_memory; with_history adds the columns of a row's past. A key that is unknown and a value that has
-- another type are refused with the item's position. What was read is checked against no rule of the table.
create or replace function memstore.read_memories(actor memstore.users, memories jsonb, with_history boolean default false)
returns table (item bigint, candidate memstore.memories)
language plpgsql
volatile
security invoker
set standard_conforming_strings = on
as $$
declare
  c_texts constant text[] := '{body,bucket,source_ref,embedding_model,slug,entity,tier,admission,language}'::text[];
  c_history constant text[] := '{stance,superseded_by_id,superseded_at,inserted_at,updated_at}'::text[];
  v_item bigint;
  v_field text;
  v_row record;
begin
  if coalesce(jsonb_typeof(memories), '') <> 'array' then
    perform memstore.refuse('argument_invalid', 'memories');
  end if;
  if jsonb_array_length(memories) > 10000 then
    perform memstore.refuse('argument_invalid', 'memories', 'More than 10000 items');
  end if;

  select i.position, ''
  into v_item, v_field
  from jsonb_array_elements(memories) with ordinality i (value, position)
  where jsonb_typeof(i.value) <> 'object'
  order by i.position
  limit 1;
  if not found then
    -- An unknown key is not named: what stands in a key's place could be a text.
    select i.position, case when k.known then k.field else 'memories' end
    into v_item, v_field
    from jsonb_array_elements(memories) with ordinality i (value, position)
    cross join jsonb_each(i.value) f
    cross join lateral (
      select
        f.key as field,
        f.key = any (c_texts || '{embedding,as_of,evidence_refs,id}'::text[])
          or with_history and f.key = any (c_history) as known,
        jsonb_typeof(f.value) as type,
        f.value #>> '{}' as content
    ) k
    where not k.known
    or k.type <> 'null'
    and not case
      when k.field = any (c_texts) or k.field = 'stance' then k.type = 'string'
      when k.field = 'evidence_refs' then true
      when k.field = 'embedding' then
        k.type = 'array'
        and not jsonb_path_exists(f.value, 'strict $[*] ? (@.type() != "number" && @.type() != "null")')
      when k.type <> 'string' then false
      when k.field in ('id', 'superseded_by_id') then
        k.content ~ '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$'
      when k.field = 'as_of' then memstore.is_date(k.content)
      else
        k.content ~ '^\d{4}-\d\d-\d\d[T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?(Z|[+-](0\d|1[0-4])(:?[0-5]\d)?)$'
        and memstore.is_date(left(k.content, 10))
    end
    order by i.position, k.field
    limit 1;
  end if;
  if found then
    perform memstore.refuse('argument_invalid', v_field, 'Item ' || v_item);
  end if;

  for v_row in
    select
      i.position,
      i.value,
      memstore.new_memory(
        actor,
        i.value ->> 'body',
        coalesce(i.value ->> 'bucket', 'user'),
        i.value ->> 'source_ref',
        case
          when jsonb_typeof(i.value -> 'embedding') = 'array' then (
            -- A real holds neither 1e99 nor 1e-99: the rule refuses the one, the other is zero. 1e-45 is the smallest.
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
        end,
        i.value ->> 'embedding_model',
        i.value ->> 'slug',
        i.value ->> 'entity',
        i.value ->> 'tier',
        (i.value ->> 'as_of')::date,
        i.value ->> 'admission',
        nullif(i.value -> 'evidence_refs', 'null'),
        i.value ->> 'language',
        (i.value ->> 'id')::uuid
      ) as candidate
    from jsonb_array_elements(memories) with ordinality i (value, position)
    order by i.position
  loop
    item := v_row.position;
    candidate := v_row.candidate;
    if with_history then
      candidate.stance := v_row.value ->> 'stance';
      candidate.superseded_by_id := (v_row.value ->> 'superseded_by_id')::uuid;
      candidate.superseded_at := (v_row.value ->> 'superseded_at')::timestamptz;
      candidate.inserted_at := coalesce((v_row.value ->> 'inserted_at')::timestamptz, candidate.inserted_at);
      candidate.updated_at := coalesce((v_row.value ->> 'updated_at')::timestamptz, candidate.inserted_at);
    end if;
    return next;
  end loop;
end
$$;

comment on function memstore.read_memories(memstore.users, jsonb, boolean) is 'The rows that a JSON array of objects asks for.';
