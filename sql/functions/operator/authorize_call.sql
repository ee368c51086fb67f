create or replace function memstore.authorize_call(
  digest bytea,
  function text,
  kind text default 'agent',
  bucket text default null,
  memory uuid default null
)
returns uuid
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
authorize_call: returns the account that a token lets a function act for.

Example:
  select memstore.redeem_login(
    sha256((select token from memstore.create_login(memstore.find_user('account-1')))::bytea), sha256('of the browser')
  );
  select memstore.authorize_call(sha256('of the browser'), 'recall', 'session') = memstore.find_user('account-1');
Result:
  t

For memstore serve, which has it as the actor of each call, so that a call's account, and whether its token allows it,
are the database's to say. The view api_scopes has the scope that each function needs.

Arguments
  digest    bytea  the SHA-256 of the secret
  function  text   the function that is called
  kind      text   agent, or session for the one of a browser; agent where left out
  bucket    text   the call's bucket, where it has one
  memory    uuid   the memory that the call changes or reads, where it names one
Returns
  the account
Errors
  token_invalid
  scope_missing
*/
declare
  v_token memstore.tokens := memstore.live_token(authorize_call.digest, coalesce(authorize_call.kind, 'agent'));
  v_needed record;
  v_owner uuid;
  v_of_steward boolean;
  v_is_claim boolean := memstore.trim_text(authorize_call.bucket) = 'system';
begin
  select f.*
  into v_needed
  from memstore.api_scopes f
  where f.name = authorize_call.function;
  if not found then
    perform memstore.refuse('scope_missing');
  end if;
  if v_needed.of_claims is not null then
    select m.user_id
    into v_owner
    from memstore.memories m
    where m.id = authorize_call.memory
    and m.bucket = 'system';
    v_of_steward := found and (
      v_owner is distinct from v_token.user_id
      -- A steward's correction answers the challenges of its target.
      or authorize_call.function = 'supersede_memory'
      and exists (select from memstore.users u where u.id = v_token.user_id and u.steward)
    );
    if v_owner is not null or v_is_claim then
      v_needed.scope := case when v_of_steward then 'steward' else v_needed.of_claims end;
    end if;
  end if;
  if (v_needed.scope = any (v_token.scopes) or v_needed.scope is null and v_token.kind = 'session') is not true then
    perform memstore.refuse('scope_missing');
  end if;
  return v_token.user_id;
end
$$;
