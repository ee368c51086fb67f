create or replace function memstore.authenticate_token(
  digest bytea,
  kind text default 'agent',
  out actor uuid,
  out id uuid,
  out name text,
  out scopes text[],
  out functions text[],
  out expires_at timestamptz
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
authenticate_token: finds the account that a token names.

Example:
  select name, scopes
  from memstore.authenticate_token(
    sha256((select token from memstore.create_token(memstore.find_user('account-1'), 'laptop'))::bytea)
  );
Result:
  laptop|{recall,remember}

For memstore serve, whose role grant_serve grants. It is asked with each request, so that a revocation counts from the
next one on. Which call a token allows, authorize_call decides. On a read-only replica it doesn't note the use.

Arguments
  digest  bytea  the SHA-256 of the secret, which itself doesn't reach the database
  kind    text   agent, or session for the one of a browser; agent where left out
Returns
  the account, the token's id, name and scopes, the functions that they allow (with :claims at its end one that they
  allow where it reads or writes a claim of the account), and when it ends
Errors
  token_invalid
*/
declare
  v_token memstore.tokens := memstore.live_token(authenticate_token.digest, coalesce(authenticate_token.kind, 'agent'));
begin
  -- Without waiting: a token's requests are not serialised at its row.
  if (v_token.last_used_at > clock_timestamp() - interval '1 minute') is not true
    and current_setting('transaction_read_only') = 'off'
  then
    update memstore.tokens t
    set last_used_at = date_trunc('minute', clock_timestamp())
    where t.id = (select k.id from memstore.tokens k where k.id = v_token.id for no key update skip locked);
  end if;
  actor := v_token.user_id;
  id := v_token.id;
  name := v_token.name;
  scopes := v_token.scopes;
  functions := array(
    select f.name || n.suffix
    from memstore.api_scopes f
    cross join lateral (values (f.scope, ''), (f.of_claims, ':claims')) n (scope, suffix)
    where n.scope = any (v_token.scopes)
    or n.scope is null and n.suffix = '' and v_token.kind = 'session'
    order by 1
  );
  expires_at := v_token.expires_at;
end
$$;
