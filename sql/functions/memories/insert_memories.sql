create or replace function memstore.insert_memories(actor uuid, memories jsonb)
returns setof memstore.memory
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
/*
insert_memories: remembers many things at once, all of them or none.

Example:
  select body from memstore.insert_memories(
    memstore.find_user('account-1'),
    '[{"body": "Deploys happen on Tuesdays."}, {"body": "CI runs on two cores.", "bucket": "learned"}]'
  );
Result:
  Deploys happen on Tuesdays.
  CI runs on two cores.

What is wrong with an item is found before the account is locked; what costs while it is locked are the lexemes, and the
writing. An item without an id whose content a live memory of the account has, or an earlier item, returns that memory.

Arguments
  actor     uuid   the account whose memories they are
  memories  jsonb  an array of up to 10,000 objects; their keys are the arguments of insert_memory but for
                   actor, embeddings are arrays of numbers, dates are texts such as 2026-08-25
Returns
  the memories in the order of the items, with increasing times
Errors
  actor_unknown
  quota_reached      the account has no room for all
  id_taken           an id is taken, and not by the same memory
  embedding_dimensions_differ
  embedding_model_unregistered
  argument_invalid   memories is not an array of up to 10,000 objects, or an item has an unknown key or a value of
                     another type; the message says which item
  rules of memories  the message says which item
*/
declare
  v_user memstore.users := memstore.read_account(insert_memories.actor, 'actor');
  v_candidates memstore.memories[] := array(
    select r.candidate
    from memstore.read_memories(v_user, memories) r
    order by r.item
  );
  -- After the rows have got their times: none may be ahead of the clock, and so of a later call's.
  v_read timestamptz := clock_timestamp();
begin
  perform memstore.check_memories(v_candidates);
  perform memstore.lock_account(insert_memories.actor, 'actor');
  return query
  select w.*
  from memstore.write_memories(
    v_candidates,
    array(
      select coalesce(i.value -> 'id', 'null') = 'null'
      from jsonb_array_elements(memories) with ordinality i (value, position)
      order by i.position
    ),
    clock_timestamp() - v_read
  ) w;
end
$$;
