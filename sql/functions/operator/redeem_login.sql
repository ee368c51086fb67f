create or replace function memstore.redeem_login(
  digest bytea,
  session bytea,
  lifetime interval default '12 hours',
  out actor uuid,
  out id uuid,
  out expires_at timestamptz
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
redeem_login: makes a session of a login, which is gone with it.

Example:
  select actor = memstore.find_user('account-1')
  from memstore.redeem_login(
    sha256((select token from memstore.create_login(memstore.find_user('account-1')))::bytea),
    sha256('a secret that the browser gets')
  );
Result:
  t

For memstore serve, whose role grant_serve grants. Of several calls at once, one succeeds.

Arguments
  digest    bytea     the SHA-256 of the login's secret
  session   bytea     the SHA-256 of the new session's secret
  lifetime  interval  after which time the session ends, 30 days at most; 12 hours where left out
Returns
  the account, the session's id, and when it ends
Errors
  token_invalid
  quota_reached     the account has 100 live sessions
  rules of tokens
*/
declare
  v_login memstore.tokens := memstore.live_token(redeem_login.digest, 'login');
  v_account memstore.users;
begin
  -- The account first, as everywhere: an erasure holds it before it takes the tokens.
  select u.*
  into v_account
  from memstore.users u
  where u.id = v_login.user_id
  and u.erased_at is null
  for no key update;

  delete from memstore.tokens t
  where t.id = v_login.id
  and t.revoked_at is null
  and v_account.id is not null
  returning t.*
  into v_login;
  if not found then
    perform memstore.refuse('token_invalid');
  end if;
  v_login := memstore.write_token(
    v_account,
    'session',
    'A browser',
    v_login.scopes,
    redeem_login.session,
    coalesce(redeem_login.lifetime, '12 hours')
  );
  actor := v_login.user_id;
  id := v_login.id;
  expires_at := v_login.expires_at;
end
$$;
