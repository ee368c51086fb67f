-- Revokes everything from PUBLIC, and grants to the roles that have the API what this version adds to it.
do $$
begin
  perform memstore.revoke_public();
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
