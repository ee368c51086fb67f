create or replace function memstore.create_login(
  actor uuid,
  scopes text[] default null,
  lifetime interval default '10 minutes',
  out id uuid,
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
create_login: makes a login, by which a person reaches the pages of one account at memstore serve, once.

Example:
  select expires_at - clock_timestamp() <= interval '10 minutes'
  from memstore.create_login(memstore.find_user('account-1'));
Result:
  t

For the link "manage my memory" of an application, which leads its signed-in user to <memstore serve>/login?code=<token>.
The secret is returned this once: the store has its SHA-256 alone. Who follows the link has a session.

Arguments
  actor     uuid      the account
  scopes    text[]    what the session may do, as in create_token, but not operator; where left out recall, remember,
                      forget, claims, and of a steward's account steward
  lifetime  interval  within which time it is used, an hour at most; 10 minutes where left out
Returns
  the login's id, its secret, and when it ends
Errors
  actor_unknown
  argument_invalid  scopes has operator
  steward_required  the account is no steward
  quota_reached     the account has 100 live logins
  rules of tokens
*/
declare
  v_account memstore.users := memstore.lock_account(create_login.actor, 'actor');
  v_token memstore.tokens;
begin
  if 'operator' = any (create_login.scopes) then
    perform memstore.refuse_argument('scopes', 'without operator, which the operator''s create_token gives');
  end if;
  token := memstore.new_secret();
  v_token := memstore.write_token(
    v_account,
    'login',
    'A login',
    coalesce(
      create_login.scopes,
      '{recall,remember,forget,claims}'::text[] || case when v_account.steward then '{steward}'::text[] end
    ),
    memstore.digest_of(token),
    coalesce(create_login.lifetime, '10 minutes')
  );
  id := v_token.id;
  expires_at := v_token.expires_at;
end
$$;
