create or replace function memstore.revoke_token(actor uuid, id uuid)
returns boolean
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
revoke_token: ends a token of an account, from its next request on.

Example:
  select memstore.create_token(memstore.find_user('account-1'), 'lost laptop');
  select memstore.revoke_token(t.actor, l.id)
  from (select memstore.find_user('account-1') as actor) t
  cross join lateral memstore.list_tokens(t.actor) l
  where l.name = 'lost laptop';
Result:
  t

Arguments
  actor  uuid  the account
  id     uuid  the token's id
Returns
  whether this call ended it; false where it was revoked before
Errors
  actor_unknown
  token_invalid  the account has no such token
*/
declare
  v_was_live boolean;
begin
  perform memstore.lock_actor(revoke_token.actor);
  select t.revoked_at is null
  into v_was_live
  from memstore.tokens t
  where t.id = revoke_token.id
  and (t.user_id = revoke_token.actor) is true
  for no key update;
  if not found then
    perform memstore.refuse('token_invalid', 'id', hint => 'Look the id up with list_tokens.');
  end if;
  update memstore.tokens t
  set revoked_at = clock_timestamp()
  where t.id = revoke_token.id
  and v_was_live;
  return v_was_live;
end
$$;
