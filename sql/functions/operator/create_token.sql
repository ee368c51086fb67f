create or replace function memstore.create_token(
  user_id uuid,
  name text,
  scopes text[] default '{recall,remember}',
  lifetime interval default '90 days',
  kind text default 'agent',
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
create_token: makes a token, by which a program reaches one account at memstore serve.

Example:
  select left(token, 4), length(token) from memstore.create_token(memstore.find_user('account-1'), 'laptop');
Result:
  mst_|68

Operator only. The secret is returned this once: the store has its SHA-256 alone. An export of an account has no tokens,
and an erasure takes them. An account has 100 live ones of each kind at most.

Scopes
  recall    reading the account's memories
  remember  remembering and correcting them
  forget    deleting them
  claims    reading, proposing, correcting, challenging and withdrawing claims of the shared bucket
  steward   deciding on claims; only for an account that is a steward
  operator  the store's figures
Arguments
  user_id   uuid      the account
  name      text      what people call it, 1 to 200 characters
  scopes    text[]    what it allows; recall and remember where left out
  lifetime  interval  after which time it ends, above 0; 90 days where left out
  kind      text      agent; or login, a link to the pages that works once, within an hour; agent where left out
Returns
  the token's id, its secret, and when it ends
Errors
  actor_unknown
  argument_invalid  kind is none of the two
  steward_required  the account is no steward
  quota_reached     the account has 100 live tokens of this kind
  rules of tokens
*/
declare
  v_account memstore.users := memstore.lock_account(create_token.user_id, 'user_id');
  v_token memstore.tokens;
begin
  if coalesce(create_token.kind, 'agent') not in ('agent', 'login') then
    perform memstore.refuse_argument('kind', 'agent or login');
  end if;
  token := memstore.new_secret();
  v_token := memstore.write_token(
    v_account,
    coalesce(create_token.kind, 'agent'),
    create_token.name,
    coalesce(create_token.scopes, '{recall,remember}'),
    memstore.digest_of(token),
    coalesce(create_token.lifetime, '90 days')
  );
  id := v_token.id;
  expires_at := v_token.expires_at;
end
$$;
