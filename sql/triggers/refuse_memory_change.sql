-- Refuses an UPDATE of a fixed column and names the column. compile_columns() writes the trigger memories_fixed, whose
-- WHEN clause lists the fixed columns.
create or replace function memstore.refuse_memory_change()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_new jsonb := to_jsonb(new);
  v_old jsonb := to_jsonb(old);
begin
  perform memstore.refuse(
    'memory_is_immutable',
    (
      select c.name
      from memstore.memory_columns c
      where c.fixed
      and v_new -> c.name <> v_old -> c.name
      order by c.position
      limit 1
    )
  );
  return null;
end
$$;

comment on function memstore.refuse_memory_change() is 'Trigger: refuses a change of a fixed column of a memory.';
