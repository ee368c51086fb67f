create or replace function memstore.find_user(external_ref text)
returns uuid
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
find_user: finds the account that has an application's own id.

Example:
  select memstore.find_user('no such account') is null;
Result:
  t

Arguments
  external_ref  text  the application's own id, compared exactly
Returns
  the account's id, or NULL where no account has it
Errors
  none
*/
  select u.id
  from memstore.users u
  where u.external_ref = find_user.external_ref
$$;
