create or replace function memstore.delegate_token(
  session bytea,
  name text,
  scopes text[] default '{recall,remember}',
  lifetime interval default '90 days',
  inout id uuid default null,
  out token text,
  out expires_at timestamptz
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
delegate_token: makes an agent's token for the account of a session.

Example:
  select memstore.redeem_login(
    sha256((select token from memstore.create_login(memstore.find_user('account-1')))::bytea), sha256('of the browser')
  );
  select length(token) from memstore.delegate_token(sha256('of the browser'), 'laptop');
Result:
  68

For memstore serve, whose role grant_serve grants: a person makes tokens for programs of the account, which may do no
more than the session may. They stay when it ends.

Arguments
  session   bytea     the SHA-256 of the session's secret
  name      text      what people call it, 1 to 200 characters
  scopes    text[]    what it allows, of the session's scopes; recall and remember where left out
  lifetime  interval  after which time it ends, above 0; 90 days where left out
  id        uuid      the token's id, so that a call that is repeated makes no second one; generated where left out
Returns
  the token's id, its secret, and when it ends
Errors
  token_invalid     there is no such session
  scope_missing     the session has not all of the scopes
  steward_required  the account is no steward any more
  quota_reached     the account has 100 live tokens
  id_taken          a token has the id
  rules of tokens
*/
declare
  v_account memstore.users := memstore.lock_account(
    (memstore.live_token(delegate_token.session, 'session')).user_id,
    'session'
  );
  -- Again, now that nobody erases the account meanwhile.
  v_session memstore.tokens := memstore.live_token(delegate_token.session, 'session');
  v_token memstore.tokens;
begin
  if not coalesce(delegate_token.scopes, '{recall,remember}') <@ v_session.scopes then
    perform memstore.refuse('scope_missing', 'scopes');
  end if;
  token := memstore.new_secret();
  v_token := memstore.write_token(
    v_account,
    'agent',
    delegate_token.name,
    coalesce(delegate_token.scopes, '{recall,remember}'),
    memstore.digest_of(token),
    coalesce(delegate_token.lifetime, '90 days'),
    delegate_token.id
  );
  id := v_token.id;
  expires_at := v_token.expires_at;
end
$$;
