create or replace function memstore.prune_items(maximum integer default 10000)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
-- So that the index of what expires is read, whatever the statistics say.
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
/*
prune_items: deletes items of all accounts whose time to live has passed, the longest expired first.

Example:
  select memstore.prune_items();
Result:
  0

Operator only. To be called every few minutes, and again at once where it returns its maximum. The accounts of what it
deletes are locked until the transaction ends.

Arguments
  maximum  integer  how many items at most, 1 to 100,000; 10,000 by default
Returns
  how many items were deleted
Errors
  argument_invalid  maximum is not 1 to 100,000
*/
declare
  -- No index is read up to a volatile function.
  v_now timestamptz := clock_timestamp();
  v_ids uuid[];
  v_deleted bigint;
begin
  if coalesce(prune_items.maximum, 10000) not between 1 and 100000 then
    perform memstore.refuse_argument('maximum', '1 to 100000');
  end if;
  v_ids := array(
    select i.id
    from memstore.items i
    where i.expires_at <= v_now
    order by i.expires_at
    limit coalesce(prune_items.maximum, 10000)
  );
  perform 1
  from memstore.users u
  where u.id = any (array(select distinct i.user_id from memstore.items i where i.id = any (v_ids)))
  order by u.id
  for no key update;
  -- Some may have been put or renewed meanwhile.
  v_ids := array(
    select i.id
    from memstore.items i
    where i.id = any (v_ids)
    and i.expires_at <= v_now
    order by i.id
    for update
  );
  delete from memstore.item_embeddings e
  where e.item_id = any (v_ids);
  delete from memstore.items i
  where i.id = any (v_ids);
  get diagnostics v_deleted = row_count;
  return v_deleted;
end
$$;
