-- Grants a role a bundle, takes back the rest of what bundles have, and records it. Operator functions that the role was
-- granted by hand stay. The caller has checked the role and the bundle, and locked api_roles.
create or replace function memstore.grant_bundle(role name, bundle text)
returns void
language plpgsql
volatile
security invoker
set search_path = pg_catalog, pg_temp
as $$
declare
  v_names text[] := array(select b.name from memstore.bundles b where b.bundle = grant_bundle.bundle);
  v_granted regprocedure[] := array(select memstore.granted_functions(grant_bundle.role));
  v_others text;
begin
  select string_agg(distinct b.signature::text, ', ')
  into v_others
  from memstore.bundles b
  where b.name <> all (v_names)
  and b.signature = any (v_granted);
  if v_others is not null then
    execute format('revoke execute on function %s from %I', v_others, grant_bundle.role);
  end if;
  perform memstore.grant_functions(
    array[grant_bundle.role],
    array(
      select b.name
      from memstore.bundles b
      where b.bundle = grant_bundle.bundle
      and b.signature <> all (v_granted)
    )
  );
  insert into memstore.api_roles as k (role, bundle, known, functions)
  values (
    grant_bundle.role,
    grant_bundle.bundle,
    v_names,
    array(
      select p.proname::text
      from memstore.granted_functions(grant_bundle.role) f (signature)
      join pg_proc p on p.oid = f.signature
      order by 1
    )
  )
  on conflict on constraint api_roles_pkey
  do update set bundle = excluded.bundle, known = excluded.known, functions = excluded.functions;
end
$$;

comment on function memstore.grant_bundle(name, text) is 'Grants a role a bundle of functions, and records it.';
