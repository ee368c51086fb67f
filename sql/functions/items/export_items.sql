create or replace function memstore.export_items(actor uuid, page_size integer default 1000, after jsonb default null)
returns setof jsonb
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
-- So that the account's index is read in one way, whatever the statistics say.
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_custom_plan
-- The text must not depend on the session's settings, and must have all digits of a real.
set timezone = 'UTC'
set extra_float_digits = 1
set jit = off
as $$
/*
export_items: exports all items of an account, as import_items takes them.

Example:
  select e ->> 'key', e -> 'value' ->> 'text' from memstore.export_items(memstore.find_user('account-1')) e;
Result:
  plan.md|Ship on Tuesday.

Every item of the account that is not expired when the transaction begins, with its embeddings and times. Pages that are
read in one REPEATABLE READ transaction are of one moment. Versions are not exported: an import gives new ones.

Arguments
  actor      uuid     the account
  page_size  integer  how many items, 1 to 10,000; 1,000 by default
  after      jsonb    an object with namespace and key, those of the last item of the previous page
Returns
  objects with the keys of import_items, without those that are NULL, in the order of their paths
Errors
  actor_unknown
  argument_invalid  page_size is not 1 to 10,000, or after has no namespace and key
*/
declare
  v_after record;
begin
  perform memstore.require_actor(export_items.actor);
  if coalesce(export_items.page_size, 1000) not between 1 and 10000 then
    perform memstore.refuse_argument('page_size', '1 to 10000');
  end if;
  if export_items.after is not null and (
    export_items.after @? '$.namespace[*] ? (@.type() != "string")'
    or (jsonb_typeof(export_items.after -> 'namespace') = 'array') is not true
    or (jsonb_typeof(export_items.after -> 'key') = 'string') is not true
  ) then
    perform memstore.refuse_argument('after', 'an object with namespace and key');
  end if;
  select coalesce(a.namespace, '{}') as namespace, coalesce(a.key, '') as key
  into v_after
  from jsonb_to_record(coalesce(export_items.after, '{}')) a (namespace text[], key text);

  return query
  select jsonb_strip_nulls(
    to_jsonb(p) - '{id,user_id,value,version,search_vector}'::text[]
    || jsonb_build_object(
      'embeddings', (
        select jsonb_agg(to_jsonb(e) - 'item_id' order by e.field)
        from memstore.item_embeddings e
        where e.item_id = p.id
      )
    )
  )
  -- A value may have nulls of its own.
  || jsonb_build_object('value', p.value)
  from (
    select i.*
    from memstore.items i
    where i.user_id = export_items.actor
    and (i.namespace, i.key) > (v_after.namespace collate "C", v_after.key collate "C")
    and (i.expires_at is null or i.expires_at > now())
    order by i.namespace, i.key
    limit coalesce(export_items.page_size, 1000)
  ) p
  order by p.namespace, p.key;
end
$$;
