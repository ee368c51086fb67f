-- Makes a token and returns its row; values that break a rule are refused. The caller has locked the account
-- (lock_account). What ended long ago goes, since nothing runs in the background: an agent's token 90 days after its
-- end, so that people see what happened to it, others at once.
create or replace function memstore.write_token(
  account memstore.users,
  kind text,
  name text,
  scopes text[],
  digest bytea,
  lifetime interval,
  id uuid default null
)
returns memstore.tokens
language plpgsql
volatile
security invoker
as $$
declare
  v_now constant timestamptz := clock_timestamp();
  v_token memstore.tokens;
begin
  v_token.id := coalesce(write_token.id, gen_random_uuid());
  v_token.user_id := account.id;
  v_token.kind := kind;
  v_token.name := memstore.trim_text(name);
  v_token.scopes := array(select distinct s from unnest(scopes) s order by s);
  v_token.digest := digest;
  v_token.inserted_at := v_now;
  -- Bounded by far more than the rules allow, since a sum could leave the range of times.
  v_token.expires_at := v_now + least(greatest(lifetime, interval '0'), interval '1000 years');
  -- Before the table does: its refusal would show the digest.
  if not memstore.tokens_obey(v_token) then
    perform memstore.refuse_row('tokens', memstore.tokens_broken(v_token));
  end if;
  if 'steward' = any (v_token.scopes) and not account.steward then
    perform memstore.refuse('steward_required', 'scopes');
  end if;

  if exists (select from memstore.tokens t where t.id = v_token.id) then
    perform memstore.refuse('id_taken', 'id', hint => 'The token was made before: its secret is not shown again.');
  end if;

  delete from memstore.tokens t
  where t.user_id = account.id
  and least(t.revoked_at, t.expires_at) < v_now - case t.kind when 'agent' then interval '90 days' else interval '0' end;
  insert into memstore.tokens select v_token.*;
  return v_token;
end
$$;

comment on function memstore.write_token(memstore.users, text, text, text[], bytea, interval, uuid) is 'Makes a token.';
