-- Refuses an UPDATE of what the triggers of memories keep in users, which are the only statements that come from another
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
      else 'restored_memories'
    end
  );
  return null;
end
$$;

comment on function memstore.keep_counts() is 'Trigger: refuses a change of an account''s counts.';

create or replace trigger users_counts
after update of live_memories, candidates, restored_memories on memstore.users
for each row
when (
  pg_catalog.pg_trigger_depth() = 0
  and row(new.live_memories, new.candidates, new.restored_memories)
    is distinct from row(old.live_memories, old.candidates, old.restored_memories)
)
execute function memstore.keep_counts();
