create or replace function memstore.import_items(user_id uuid, items jsonb, raise_maximum boolean default false)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
-- So that items are looked up by index, whatever the statistics say.
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
/*
import_items: imports items of one account with their times.

Example:
  select memstore.import_items(
    memstore.find_user('account-1'),
    '[{"namespace": ["files"], "key": "a", "value": {"n": 1}, "inserted_at": "2026-01-02T03:04:05Z"}]'
  );
Result:
  1

Operator only. As put_items, and objects may also have expires_at, inserted_at and updated_at, times with a zone such as
2026-01-02T03:04:05Z; there is no if_version. With raise_maximum an account that has no room gets as high a maximum as it
needs, and no higher.

Arguments
  user_id        uuid     the account
  items          jsonb    an array of up to 10,000 objects, each of another path
  raise_maximum  boolean  whether to raise a maximum that is too low for them; false where left out
Returns
  how many items were new to the account
Errors
  actor_unknown
  quota_reached     the account has no room for all
  embedding_dimensions_differ
  embedding_model_unregistered
  argument_invalid  items is not of this form, or has a path twice; the message says which item
  rules of items    the message says which item
  rules of item_embeddings
*/
declare
  v_user memstore.users := memstore.read_account(import_items.user_id, 'user_id');
  v_items memstore.items[] := memstore.read_items(v_user, items, with_history => true);
  v_embeddings memstore.item_embeddings[];
  v_embedded integer[];
  v_before integer;
  v_after integer;
begin
  select coalesce(array_agg(e.embedding), array[]::memstore.item_embeddings[]), array_agg(e.item)
  into v_embeddings, v_embedded
  from memstore.read_item_embeddings(items, v_items) e;
  v_user := memstore.lock_account(import_items.user_id, 'user_id');
  v_before := v_user.stored_items;
  if raise_maximum then
    update memstore.users u
    set maximum_items = greatest(v_user.maximum_items, v_before + cardinality(v_items))
    where u.id = v_user.id
    and v_before + cardinality(v_items)
      > coalesce(v_user.maximum_items, (select s.maximum_items from memstore.settings s));
  end if;
  perform memstore.write_items(v_items, null, v_embeddings, v_embedded, with_history => true);
  select u.stored_items
  into v_after
  from memstore.users u
  where u.id = v_user.id;
  -- Some may have been there.
  if raise_maximum then
    update memstore.users u
    set maximum_items = case
      when v_after > coalesce(v_user.maximum_items, (select s.maximum_items from memstore.settings s)) then v_after
      else v_user.maximum_items
    end
    where u.id = v_user.id;
  end if;
  return (v_after - v_before)::bigint;
end
$$;
