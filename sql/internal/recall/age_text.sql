-- How long ago, in words, in the largest unit that fits. A moment ahead of the statement is just now.
create or replace function memstore.age_text(moment timestamptz)
returns text
language plpgsql
stable parallel safe
security invoker
as $$
declare
  v_seconds bigint := floor(extract(epoch from statement_timestamp() - age_text.moment))::bigint;
  v_unit text;
  v_unit_seconds integer;
  v_number bigint;
begin
  if v_seconds < 60 then
    return 'just now';
  end if;
  for v_unit, v_unit_seconds in
    values ('year', 31536000), ('month', 2592000), ('day', 86400), ('hour', 3600), ('minute', 60)
  loop
    v_number := v_seconds / v_unit_seconds;
    exit when v_number > 0;
  end loop;
  return format('%s %s%s ago', v_number, v_unit, case when v_number > 1 then 's' end);
end
$$;

comment on function memstore.age_text(timestamptz) is 'How long ago, in words.';
