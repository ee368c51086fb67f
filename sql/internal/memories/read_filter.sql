-- The objects of which a memory's metadata have to contain one; NULL where every memory passes. A key that begins with
-- $ is an operator elsewhere. It is refused at any depth, since as a key it would match nothing.
create or replace function memstore.read_filter(filter jsonb)
returns jsonb[]
language plpgsql
stable
security invoker
set standard_conforming_strings = on
as $$
declare
  v_filters jsonb[];
begin
  if filter is null then
    return null;
  end if;
  v_filters := case jsonb_typeof(filter)
    when 'array' then array(select a.value from jsonb_array_elements(filter) a)
    else array[filter]
  end;
  if cardinality(v_filters) > 100 then
    perform memstore.refuse_argument('filter', 'an array of at most 100 objects');
  end if;
  if exists (select from unnest(v_filters) f (alternative) where jsonb_typeof(f.alternative) <> 'object') then
    perform memstore.refuse_argument('filter', 'an object, or an array of objects');
  end if;
  -- Of a jsonb's text alone a key has { or a space before its quote, and a colon behind it. A path that visits all keys
  -- copies what is below each of them.
  if filter::text collate "C" ~ '[{ ]"\$([^"\\]|\\.)*":' then
    perform memstore.refuse(
      'argument_invalid',
      'filter',
      message => 'A key of `filter` begins with $, and there are no operators.'
    );
  end if;
  if '{}' = any (v_filters) then
    return null;
  end if;
  return v_filters;
end
$$;

comment on function memstore.read_filter(jsonb) is
  'The objects of which a memory''s metadata have to contain one; NULL for none.';
