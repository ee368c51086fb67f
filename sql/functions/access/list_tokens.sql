create or replace function memstore.list_tokens(actor uuid)
returns table (
  id uuid,
  kind text,
  name text,
  scopes text[],
  inserted_at timestamptz,
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz
)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
list_tokens: lists the tokens of an account, newest first: who reaches its memories over HTTP.

Example:
  select memstore.create_token(memstore.find_user('account-1'), 'laptop');
  select kind, name, scopes, last_used_at is null from memstore.list_tokens(memstore.find_user('account-1'));
Result:
  agent|laptop|{recall,remember}|t

An agent's token is listed until 90 days after its end, others until theirs.

Arguments
  actor  uuid  the account
Returns
  of each token its id, kind (agent, login or session), name and scopes, when it was made, ends, was last used (to the
  minute) and was revoked
Errors
  actor_unknown
*/
begin
  perform memstore.require_actor(list_tokens.actor);
  return query
  select t.id, t.kind, t.name, t.scopes, t.inserted_at, t.expires_at, t.last_used_at, t.revoked_at
  from memstore.tokens t
  where t.user_id = list_tokens.actor
  and (
    t.kind = 'agent'
    and least(t.revoked_at, t.expires_at) > clock_timestamp() - interval '90 days'
    or t.revoked_at is null
    and t.expires_at > clock_timestamp()
  )
  order by t.inserted_at desc, t.id desc;
end
$$;
