-- Refuses an UPDATE of what the triggers of memories and items keep in users, which are the only statements that come from another
-- trigger.
create or replace function memstore.keep_counts()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform memstore.refuse(
    'count_is_kept',
    case
      when new.live_memories <> old.live_memories then 'live_memories'
      when new.candidates <> old.candidates then 'candidates'
      when new.restored_memories is distinct from old.restored_memories then 'restored_memories'
      when new.stored_items <> old.stored_items then 'stored_items'
      else 'restored_items'
    end
  );
  return null;
end
$$;

comment on function memstore.keep_counts() is 'Trigger: refuses a change of an account''s counts.';

create or replace trigger users_counts
after update of live_memories, candidates, restored_memories, stored_items, restored_items on memstore.users
for each row
when (
  pg_catalog.pg_trigger_depth() = 0
  and row(new.live_memories, new.candidates, new.restored_memories, new.stored_items, new.restored_items)
    is distinct from row(old.live_memories, old.candidates, old.restored_memories, old.stored_items, old.restored_items)
)
execute function memstore.keep_counts();
