-- The account of a my_ function: the one that the call names, where the session's role is bound to it, or the role's
-- only one. The role is the one that was SET, else the login's; never current_user, which in a function of another
-- role's is that role, so that an attacker's function would act for whoever calls it.
create or replace function memstore.own_account(actor uuid)
returns uuid
language plpgsql
stable
security invoker
as $$
declare
  v_role name := coalesce(nullif(current_setting('role'), 'none')::name, session_user);
  v_accounts uuid[];
begin
  if own_account.actor is null then
    v_accounts := array(select r.user_id from memstore.account_roles r where r.role = v_role limit 2);
  else
    v_accounts := array(
      select r.user_id from memstore.account_roles r where r.role = v_role and r.user_id = own_account.actor
    );
  end if;
  if cardinality(v_accounts) <> 1 then
    perform memstore.refuse('actor_unknown', 'actor');
  end if;
  return v_accounts[1];
end
$$;

comment on function memstore.own_account(uuid) is 'The account that the session''s role is bound to.';
