-- Reads the filter of a search: an object of keys of the value, each with a value that it must equal, or with an object of
-- operators. A key that is missing passes no condition.
-- Returns: a jsonpath, strict so that arrays are not searched through, for what compares with numbers, strings, booleans
-- and null; the arrays and objects that keys must equal, which a jsonpath compares with nothing; and what keys must not
-- equal, since to a jsonpath values of two types are neither equal nor unequal. NULL where there is no such condition.
create or replace function memstore.read_item_filter(
  filter jsonb,
  out path jsonpath,
  out equal jsonb,
  out unequal jsonb
)
language plpgsql
stable
security invoker
as $$
declare
  v_terms text;
begin
  if filter is null then
    return;
  end if;
  if jsonb_typeof(filter) <> 'object' then
    perform memstore.refuse_argument('filter', 'an object');
  end if;

  select
    string_agg(
      format('$.%s %s %s', to_json(c.key), c.symbol, c.operand), ' && '
    ) filter (where c.scalar and c.operator <> '$ne'),
    jsonb_object_agg(c.key, c.operand) filter (where not c.scalar and c.operator = '$eq'),
    jsonb_object_agg(c.key, c.operand) filter (where c.operator = '$ne')
  into v_terms, equal, unequal
  from (
    select
      f.key,
      o.key as operator,
      o.value as operand,
      jsonb_typeof(o.value) not in ('array', 'object') as scalar,
      case o.key
        when '$eq' then '=='
        when '$gt' then '>'
        when '$gte' then '>='
        when '$lt' then '<'
        when '$lte' then '<='
      end as symbol
    from jsonb_each(filter) f
    cross join lateral jsonb_each(
      case
        when jsonb_path_exists(f.value, 'strict $ ? (@.type() == "object").keyvalue().key ? (@ starts with "$")')
          then f.value
        else jsonb_build_object('$eq', f.value)
      end
    ) o
  ) c;
  if jsonb_path_exists(filter, 'strict $.keyvalue().key ? (@ starts with "$")')
    or exists (
      select
      from jsonb_each(filter) f
      cross join lateral jsonb_each(
        case
          when jsonb_path_exists(f.value, 'strict $ ? (@.type() == "object").keyvalue().key ? (@ starts with "$")')
            then f.value
          else '{}'
        end
      ) o
      where o.key not in ('$eq', '$ne')
      and (o.key not in ('$gt', '$gte', '$lt', '$lte') or jsonb_typeof(o.value) not in ('number', 'string'))
    )
  then
    perform memstore.refuse_argument(
      'filter',
      'an object of keys with values, or with objects of the operators $eq, $ne, and, with numbers or strings, $gt, '
      '$gte, $lt, $lte'
    );
  end if;
  path := ('strict ' || v_terms)::jsonpath;
end
$$;

comment on function memstore.read_item_filter(jsonb) is 'Reads the filter of a search of items.';
