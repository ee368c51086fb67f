-- The token with a digest, which has neither ended nor been revoked, of an account that isn't erased. For every other
-- one there is one refusal, which tells nothing of it.
create or replace function memstore.live_token(digest bytea, kind text)
returns memstore.tokens
language plpgsql
stable
security invoker
as $$
declare
  v_token memstore.tokens;
begin
  select t.*
  into v_token
  from memstore.tokens t
  join memstore.users u on u.id = t.user_id
  where t.digest = live_token.digest
  and t.kind = live_token.kind
  and t.revoked_at is null
  and t.expires_at > clock_timestamp()
  and u.erased_at is null;
  if not found then
    perform memstore.refuse('token_invalid');
  end if;
  return v_token;
end
$$;

comment on function memstore.live_token(bytea, text) is 'The live token with a digest.';
