create or replace function memstore.import_memories(
  user_id uuid,
  memories jsonb,
  raise_ceiling boolean default false
)
returns setof memstore.memory
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
import_memories: imports memories of one account with their ids and times.

Example:
  select body, inserted_at from memstore.import_memories(
    memstore.find_user('account-1'),
    '[{"id": "00000000-0000-4000-8000-000000000007", "body": "I use npm.", "inserted_at": "2026-01-02T03:04:05Z"}]'
  );
Result:
  I use npm.|2026-01-02 03:04:05+00

Operator only. As insert_memories, and objects may also have stance, inserted_at, updated_at, superseded_at and
superseded_by_id; times are texts with a zone, such as 2026-01-02T03:04:05Z. A memory may be superseded by one of the
same call or by one that is stored. With raise_ceiling an account that has no room gets as high a ceiling as it needs,
and no higher: it can then add nothing.

Arguments
  user_id        uuid     the account
  memories       jsonb    an array of up to 10,000 objects
  raise_ceiling  boolean  whether to raise a ceiling that is too low for them; false where left out
Returns
  the memories in the order of the items
Errors
  actor_unknown
  not_supersedable   a superseded_by_id is one that no correction could have left
  quota_reached      the account has no room for all
  id_taken           an id is taken, and not by the same memory
  embedding_dimensions_differ
  embedding_model_unregistered
  argument_invalid   memories is not an array of up to 10,000 objects, or an item has an unknown key or a value of
                     another type; the message says which item
  rules of memories  the message says which item
*/
declare
  v_user memstore.users := memstore.read_account(import_memories.user_id, 'user_id');
  v_candidates memstore.memories[] := array(
    select r.candidate
    from memstore.read_memories(v_user, memories, with_history => true) r
    order by r.item
  );
  v_room integer := (
    select count(*)::integer
    from unnest(v_candidates) c
    where c.superseded_at is null
    and c.stance is null
  );
begin
  perform memstore.check_memories(v_candidates);
  v_user := memstore.lock_account(import_memories.user_id, 'user_id');
  if raise_ceiling then
    update memstore.users u
    set maximum_live_memories = greatest(v_user.maximum_live_memories, v_user.live_memories + v_room)
    where u.id = v_user.id;
  end if;
  return query
  select w.*
  from memstore.write_memories(v_candidates) w;
  -- Some may have been there.
  if raise_ceiling then
    update memstore.users u
    set maximum_live_memories = greatest(v_user.maximum_live_memories, u.live_memories)
    where u.id = v_user.id;
  end if;
end
$$;
