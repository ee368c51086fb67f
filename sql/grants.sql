-- Revokes everything from PUBLIC, and grants again what roles had, and what this version adds to their bundles.
do $$
begin
  perform memstore.revoke_public();
  perform memstore.restore_grants();
end
$$;
