-- PUBLIC can do nothing. Roles that had the API get what this version adds to it.
revoke all on all functions in schema memstore from public;
revoke all on all tables in schema memstore from public;

do $$
begin
  perform memstore.grant_api(g.role)
  from (
    select distinct r.rolname as role
    from memstore.api_functions f
    join pg_catalog.pg_proc p on p.oid = f.signature
    cross join pg_catalog.aclexplode(p.proacl) a
    join pg_catalog.pg_roles r on r.oid = a.grantee
    where a.grantee <> p.proowner
  ) g;
end
$$;
