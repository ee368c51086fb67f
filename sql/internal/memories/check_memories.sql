-- Refuses the first of many rows that breaks a rule, and says which item it is. It comes before any lock: the caller has
-- none.
create or replace function memstore.check_memories(candidates memstore.memories[])
returns void
language plpgsql
stable
security invoker
as $$
declare
  v_candidate memstore.memories;
  v_item integer := 0;
begin
  foreach v_candidate in array candidates loop
    v_item := v_item + 1;
    if not memstore.memories_obey(v_candidate) then
      perform memstore.refuse_row('memories', memstore.memories_broken(v_candidate), 'Item ' || v_item);
    end if;
  end loop;
end
$$;

comment on function memstore.check_memories(memstore.memories[]) is 'Refuses rows that break a rule.';
