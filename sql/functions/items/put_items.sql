create or replace function memstore.put_items(actor uuid, items jsonb)
returns setof bigint
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
put_items: writes items, which are JSON documents by path, all of them or none.

Example:
  select put > 0 from memstore.put_items(
    memstore.find_user('account-1'),
    '[{"namespace": ["files", "notes"], "key": "todo.md", "value": {"text": "Ship on Friday."}}]'
  ) put;
Result:
  t

An item is overwritten by the next put of its path; a value of null deletes it. It has no history, and recall doesn't
read it: what an agent has to know of a person is a memory, what it keeps for itself is an item. Each change gives the
item a version, a number that never comes again. With if_version nothing is written unless each item that has it is of
that version, or absent, for 0: read, change, put, and on item_changed read again. Once its time to live has passed, an
item is as one that is absent; it counts until it is deleted (delete_expired_items).

An item's keys: namespace, an array of 1 to 32 labels; key; value, an object; ttl_seconds, how long it lives; indexed,
whether a search by words finds it, true by default; language, the text search configuration of its strings, the
account's by default; embeddings, up to 100 objects with field, embedding and embedding_model; if_version. What a put
leaves out, the item has no more.

Arguments
  actor  uuid   the account whose items they are
  items  jsonb  an array of up to 10,000 objects, each of another path
Returns
  the new version of each item, in their order; NULL for one that was deleted
Errors
  actor_unknown
  item_changed      an item is not of its if_version; the message says which
  quota_reached     the account has no room for all
  embedding_dimensions_differ
  embedding_model_unregistered
  argument_invalid  items is not of this form, or has a path twice; the message says which item
  rules of items    the message says which item
  rules of item_embeddings
*/
declare
  v_user memstore.users := memstore.read_account(put_items.actor, 'actor');
  v_items memstore.items[] := memstore.read_items(v_user, items);
  v_versions bigint[];
  v_embeddings memstore.item_embeddings[] := array[]::memstore.item_embeddings[];
  v_embedded integer[];
begin
  if put_items.items @? '$[*].embeddings' then
    select coalesce(array_agg(e.embedding), v_embeddings), array_agg(e.item)
    into v_embeddings, v_embedded
    from memstore.read_item_embeddings(items, v_items) e;
  end if;
  if put_items.items @? '$[*].if_version' then
    v_versions := array(
      select (i.value ->> 'if_version')::bigint
      from jsonb_array_elements(items) with ordinality i (value, position)
      order by i.position
    );
  end if;
  perform memstore.lock_account(put_items.actor, 'actor');
  return query
  select w.*
  from memstore.write_items(v_items, v_versions, v_embeddings, v_embedded) w;
end
$$;
