-- What a memory says never changes, for anybody. compile_columns writes the trigger memories_fixed and its condition.
create or replace function memstore.refuse_memory_change()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_old jsonb := to_jsonb(old) - '{embedding,embedding_model,superseded_by_id,superseded_at,updated_at,promoted,search_vector}'::text[];
begin
  perform memstore.refuse(
    'memory_is_immutable',
    (
      select a.attname
      from pg_attribute a
      join jsonb_each(to_jsonb(new)) n on n.key = a.attname
      join jsonb_each(v_old) o on o.key = n.key
      where a.attrelid = tg_relid
      and n.value <> o.value
      order by a.attnum
      limit 1
    )
  );
  return null;
end
$$;

comment on function memstore.refuse_memory_change() is 'Trigger: refuses a change of what a memory says.';
