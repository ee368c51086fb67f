-- Writes what an operator sets of an account: steward, maximum_live_memories and maximum_items. The caller has locked
-- the account (lock_account); values that break a rule are refused.
create or replace function memstore.write_account(candidate memstore.users)
returns void
language plpgsql
volatile
security invoker
as $$
begin
  if not memstore.users_obey(candidate) then
    perform memstore.refuse_row('users', memstore.users_broken(candidate));
  end if;
  update memstore.users u
  set
    steward = candidate.steward,
    maximum_live_memories = candidate.maximum_live_memories,
    maximum_items = candidate.maximum_items
  where u.id = candidate.id;
end
$$;

comment on function memstore.write_account(memstore.users) is 'Writes what an operator sets of an account.';
