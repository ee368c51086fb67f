-- Holds how many live tokens of each kind an account has, and that an erased one has none. Locking the account
-- serialises its concurrent writers.
create or replace function memstore.hold_tokens()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform memstore.lock_account(new.user_id, 'user_id');
  if memstore.maximum_tokens() < (
    select count(*)
    from memstore.tokens t
    where t.user_id = new.user_id
    and t.kind = new.kind
    and t.revoked_at is null
    and t.expires_at > clock_timestamp()
  ) then
    perform memstore.refuse('quota_reached', 'name');
  end if;
  return null;
end
$$;

comment on function memstore.hold_tokens() is 'Trigger: holds how many live tokens an account has.';

create or replace trigger tokens_count
after insert or update of user_id, kind, expires_at, revoked_at on memstore.tokens
for each row
when (new.revoked_at is null)
execute function memstore.hold_tokens();
