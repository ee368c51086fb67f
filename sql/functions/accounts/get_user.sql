create or replace function memstore.get_user(
  actor uuid,
  out external_ref text,
  out language text,
  out steward boolean,
  out live_memories integer,
  out maximum_live_memories integer,
  out inserted_at timestamptz
)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
get_user: returns what an account is, and how much of its ceiling it holds.

Example:
  select external_ref, live_memories, maximum_live_memories from memstore.get_user(memstore.find_user('account-1'));
Result:
  account-1|1|200

Arguments
  actor  uuid  the account
Returns
  the application's own id (NULL without one), the language of its memories, whether it is a steward, how many live
  memories it has and may have, and when it was created
Errors
  actor_unknown
*/
begin
  perform memstore.require_actor(get_user.actor);
  select u.external_ref, u.language, u.steward, u.live_memories, u.maximum_live_memories, u.inserted_at
  into external_ref, language, steward, live_memories, maximum_live_memories, inserted_at
  from memstore.users u
  where u.id = get_user.actor;
end
$$;
