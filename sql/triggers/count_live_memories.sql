-- Keeps users.live_memories and holds the ceiling, once a statement, so that a COPY or a batch updates each account
-- once. Updating the account's row serialises its concurrent writers.
create or replace function memstore.count_live_memories()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_accounts uuid[];
  v_changes bigint[];
  v_account record;
  v_change bigint;
  v_over uuid[];
  v_room text;
begin
  if tg_op = 'INSERT' then
    select array_agg(c.user_id order by c.user_id), array_agg(c.change order by c.user_id)
    into v_accounts, v_changes
    from (
      select n.user_id, count(*) as change
      from new_memories n
      where n.superseded_at is null
      and not n.promoted
      group by n.user_id
    ) c;
  elsif tg_op = 'DELETE' then
    select array_agg(c.user_id order by c.user_id), array_agg(c.change order by c.user_id)
    into v_accounts, v_changes
    from (
      select o.user_id, -count(*) as change
      from old_memories o
      where o.superseded_at is null
      and not o.promoted
      group by o.user_id
    ) c;
  else
    select array_agg(c.user_id order by c.user_id), array_agg(c.change order by c.user_id)
    into v_accounts, v_changes
    from (
      select o.user_id, -count(*) as change
      from old_memories o
      join new_memories n on n.id = o.id
      where o.superseded_at is null
      and not o.promoted
      and n.superseded_at is not null
      group by o.user_id
    ) c;
  end if;

  if v_accounts is null then
    return null;
  end if;
  if cardinality(v_accounts) > 1 then
    perform 1
    from memstore.users u
    where u.id = any (v_accounts)
    order by u.id
    for no key update;
  end if;

  for v_account in
    update memstore.users u
    set live_memories = u.live_memories + v_changes[array_position(v_accounts, u.id)]
    where u.id = any (v_accounts)
    returning u.id, u.live_memories - u.maximum_live_memories as over
  loop
    continue when v_account.over <= 0;
    v_over := v_over || v_account.id;
    v_change := v_changes[array_position(v_accounts, v_account.id)];
    if v_change > 1 then
      v_room := concat(v_room || ', ', format('Only %s of %s fit', greatest(v_change - v_account.over, 0), v_change));
    end if;
  end loop;

  -- At or above the ceiling an account may still correct: a row that one of its own rows points at replaces that one
  -- and adds nothing, unless this statement inserted both.
  if tg_op = 'INSERT' and v_over is not null then
    if exists (
      select
      from new_memories n
      where n.user_id = any (v_over)
      and n.superseded_at is null
      and not n.promoted
      and not exists (
        select
        from memstore.memories o
        where o.superseded_by_id = n.id
        and o.user_id = n.user_id
        and not o.promoted
        and not exists (select from new_memories d where d.id = o.id)
      )
    ) then
      perform memstore.refuse('quota_reached', 'actor', v_room);
    end if;
  end if;
  return null;
end
$$;

comment on function memstore.count_live_memories() is 'Trigger: keeps users.live_memories, and holds the ceiling.';

create or replace trigger memories_count_insert
after insert on memstore.memories
referencing new table as new_memories
for each statement
when (not memstore.is_restore())
execute function memstore.count_live_memories();

create or replace trigger memories_count_update
after update on memstore.memories
referencing old table as old_memories new table as new_memories
for each statement
execute function memstore.count_live_memories();

create or replace trigger memories_count_delete
after delete on memstore.memories
referencing old table as old_memories
for each statement
execute function memstore.count_live_memories();
