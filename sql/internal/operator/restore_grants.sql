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
  v_group record;
begin
  for v_group in
    select array_agg(l.role order by l.role) as roles, l.lacking
    from (
      select k.role,
        array(
          select p.proname::text
          from pg_proc p
          where p.pronamespace = 'memstore'::regnamespace
          and (
            p.proname = any (k.functions)
            or p.proname <> all (k.known)
            and exists (select from memstore.bundles b where b.bundle = k.bundle and b.signature = p.oid)
          )
          and not coalesce(p.proacl @> makeaclitem(r.oid, p.proowner, 'EXECUTE', false), false)
          order by 1
        ) as lacking
      from memstore.api_roles k
      join pg_roles r on r.rolname = k.role
      join pg_namespace n on n.nspname = 'memstore'
      where k.functions <> '{}'
      -- Without any privileges on it, the schema was restored without them.
      and (n.nspacl is null or n.nspacl @> makeaclitem(r.oid, n.nspowner, 'USAGE', false))
    ) l
    where l.lacking <> '{}'
    group by l.lacking
  loop
    perform memstore.grant_functions(v_group.roles, v_group.lacking);
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
