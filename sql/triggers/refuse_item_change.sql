-- Refuses an UPDATE that gives an item to another account, or changes it without a new version. AFTER, because a BEFORE
-- UPDATE trigger has PostgreSQL compute the generated column again, also for a renewal.
create or replace function memstore.refuse_item_change()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform memstore.refuse(
    'item_is_kept',
    case when row(new.id, new.user_id) is distinct from row(old.id, old.user_id) then 'user_id' else 'version' end
  );
  return null;
end
$$;

comment on function memstore.refuse_item_change() is 'Trigger: refuses an item of another account, or without a new version.';

create or replace trigger items_fixed
after update of id, user_id, namespace, key, value, version on memstore.items
for each row
when (
  row(new.id, new.user_id) is distinct from row(old.id, old.user_id)
  or new.version <= old.version
)
execute function memstore.refuse_item_change();
