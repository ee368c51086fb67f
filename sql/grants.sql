-- Revokes everything from PUBLIC, and grants again what roles had, and what this version adds to their bundles.
do $$
begin
  perform memstore.revoke_public();
  -- Roles whose last account an earlier version has erased (release_roles).
  perform memstore.revoke_api(k.role)
  from memstore.api_roles k
  where k.bundle = 'bound'
  and not exists (select from memstore.account_roles a where a.role = k.role);
  perform memstore.restore_grants();
end
$$;
