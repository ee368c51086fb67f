-- A role whose last binding goes, by unbind_role, an erasure or plain SQL, loses what it was granted: unbound, it would
-- read the accounts that memstore.actor names, where it may read the tables.
create or replace function memstore.release_roles()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (select from old_rows) then
    return null;
  end if;
  -- The last two bindings of a role can go at once: the second sees that the first is gone.
  lock table memstore.api_roles in share row exclusive mode;
  perform memstore.revoke_api(o.role)
  from (
    select distinct d.role
    from old_rows d
    where not exists (select from memstore.account_roles a where a.role = d.role)
    and (
      exists (select from pg_roles r where r.rolname = d.role)
      or exists (select from memstore.api_roles k where k.role = d.role)
    )
  ) o;
  return null;
end
$$;

comment on function memstore.release_roles() is 'Trigger: takes back what a role was granted with its last binding.';

create or replace trigger account_roles_release
after delete on memstore.account_roles
referencing old table as old_rows
for each statement
execute function memstore.release_roles();
