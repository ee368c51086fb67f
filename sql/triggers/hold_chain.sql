-- Holds the chain's rules, also against direct writes. A live row may be pointed once, at another live row of the same
-- account or, in the system bucket, of any account. Afterwards the pointer changes only when its target is deleted: to
-- the target's own replacement, or to NULL. An inserted row may have a pointer already (a restore, an import) if its
-- target was live at that time. Along a chain superseded_at increases, so that no chain loops.
create or replace function memstore.hold_chain()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_target memstore.memories;
begin
  if tg_op = 'UPDATE' then
    if new.superseded_at is distinct from old.superseded_at
      and (old.superseded_at is not null or new.superseded_by_id is null)
    then
      perform memstore.refuse('memory_is_immutable', 'superseded_at');
    end if;
    if old.superseded_by_id is not null then
      if new.superseded_by_id is null then
        if exists (select from memstore.memories m where m.id = old.superseded_by_id) then
          perform memstore.refuse('memory_is_immutable', 'superseded_by_id');
        end if;
      elsif not exists (
        select
        from memstore.memories m
        where m.id = old.superseded_by_id
        and m.superseded_by_id = new.superseded_by_id
      ) then
        perform memstore.refuse('memory_is_immutable', 'superseded_by_id');
      end if;
      return null;
    end if;
    if old.superseded_at is not null
      or exists (
        select
        from memstore.memories p
        where p.superseded_by_id = new.id
        and p.superseded_at >= new.superseded_at
      )
    then
      perform memstore.refuse('not_supersedable', 'superseded_by_id');
    end if;
  end if;

  -- FOR SHARE: two transactions that point two rows at each other would otherwise both see a live target.
  select m.*
  into v_target
  from memstore.memories m
  where m.id = new.superseded_by_id
  for share;
  if v_target.id = new.id
    or (v_target.bucket = 'system') <> (new.bucket = 'system')
    or v_target.user_id <> new.user_id and new.bucket <> 'system'
    or v_target.superseded_at is not null and (tg_op = 'UPDATE' or v_target.superseded_at <= new.superseded_at)
  then
    perform memstore.refuse('not_supersedable', 'superseded_by_id');
  end if;

  -- Whoever supersedes the target in an older snapshot doesn't see this pointer, and gets 40001 where both update the
  -- target's account. The count does that for a memory, and not for a tombstone or what points at another account's.
  if tg_op = 'INSERT' or new.promoted or v_target.user_id <> new.user_id then
    update memstore.users u
    set live_memories = u.live_memories
    where u.id in (v_target.user_id, new.user_id);
  end if;
  return null;
end
$$;

comment on function memstore.hold_chain() is
  'Trigger: holds what a memory may be superseded by, and that its pointer stays.';

create or replace trigger memories_chain_insert
after insert on memstore.memories
for each row
when (new.superseded_by_id is not null)
execute function memstore.hold_chain();

create or replace trigger memories_chain_update
after update on memstore.memories
for each row
when (
  new.superseded_by_id is distinct from old.superseded_by_id
  or new.superseded_at is distinct from old.superseded_at
)
execute function memstore.hold_chain();
