-- Keeps users.stored_items and holds the maximum, once a statement. Updating the account's row serialises its concurrent
-- writers. It also refuses items of an erased account. A restore may bring as many as the dump has of the account.
create or replace function memstore.count_items()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_change integer := case tg_op when 'INSERT' then 1 else -1 end;
  v_account record;
  v_counted record;
begin
  -- In the order of locks.
  for v_account in
    select c.user_id, count(*)::integer as items
    from changed_items c
    group by c.user_id
    order by c.user_id
  loop
    update memstore.users u
    set
      stored_items = u.stored_items + v_change * v_account.items,
      restored_items = case when u.stored_items + v_account.items < u.restored_items then u.restored_items end
    where u.id = v_account.user_id
    returning
      u.stored_items,
      u.maximum_items,
      u.erased_at,
      -- What the account was entitled to is read in the snapshot of the statement, from before it.
      (select o.restored_items from memstore.users o where o.id = u.id) as restored_items
    into v_counted;
    continue when tg_op = 'DELETE';
    if v_counted.erased_at is not null then
      perform memstore.refuse('actor_unknown', 'user_id');
    end if;
    if v_counted.stored_items > greatest(
      coalesce(v_counted.maximum_items, (select s.maximum_items from memstore.settings s)), v_counted.restored_items
    ) then
      perform memstore.refuse('quota_reached', 'actor');
    end if;
  end loop;
  return null;
end
$$;

comment on function memstore.count_items() is 'Trigger: keeps users.stored_items, and holds the maximum.';

create or replace trigger items_count_insert
after insert on memstore.items
referencing new table as changed_items
for each statement
execute function memstore.count_items();

create or replace trigger items_count_delete
after delete on memstore.items
referencing old table as changed_items
for each statement
execute function memstore.count_items();
