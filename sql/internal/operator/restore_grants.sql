-- After the functions were loaded: grants each role what note_grants() recorded, and of its bundle what is new. A role
-- that has lost everything, as one that was dropped and created again under its name, gets nothing.
create or replace function memstore.restore_grants()
returns void
language plpgsql
volatile
security invoker
set search_path = pg_catalog, pg_temp
as $$
declare
  v_role record;
begin
  for v_role in
    select k.role, k.functions, array_agg(b.name) filter (where b.name <> all (k.known)) as added
    from memstore.api_roles k
    join pg_roles r on r.rolname = k.role
    join pg_namespace n on n.nspname = 'memstore'
    left join memstore.bundles b on b.bundle = k.bundle
    where k.functions <> '{}'
    -- Without any privileges on it, the schema was restored without them.
    and (
      n.nspacl is null
      or exists (select from aclexplode(n.nspacl) a where a.grantee = r.oid and a.privilege_type = 'USAGE')
    )
    group by k.role, k.functions
    order by k.role
  loop
    perform memstore.grant_functions(v_role.role, v_role.functions || v_role.added);
  end loop;

  update memstore.api_roles k
  set known = array(
    select unnest(k.known)
    union
    select b.name
    from memstore.bundles b
    where b.bundle = k.bundle
    order by 1
  );
  perform memstore.note_grants();
end
$$;

comment on function memstore.restore_grants() is 'Grants roles what they had, and what is new in their bundles.';
