-- What a role can be granted at once: by grant_api all, write or read, by bind_role bound, and by
-- grant_serve serve.
create or replace view memstore.bundles
with (security_invoker = true)
as
select b.bundle, p.proname::text as name, p.oid::regprocedure as signature
from pg_catalog.pg_proc p
left join memstore.api f on f.name = p.proname and not f.owner_only
left join memstore.api_scopes s on s.name = p.proname
cross join lateral (
  values
    ('all', f.name is not null),
    ('write', f.name not in ('create_login', 'create_user', 'delete_user')),
    ('read', f.name is not null and (p.provolatile <> 'v' or f.name in ('item_violations', 'memory_violations'))),
    -- Of what names an account, the functions that compile_own_api() writes.
    ('bound', p.proname like 'my\_%' or not f.manages and p.proargnames[1] is distinct from 'actor'),
    (
      'serve',
      s.name is not null
      or p.proname in ('authenticate_token', 'authorize_call', 'redeem_login', 'schema_version')
    )
) b (bundle, has)
where p.pronamespace = 'memstore'::regnamespace
and b.has;

comment on view memstore.bundles is 'The functions that grant_api, bind_role and grant_serve grant, by bundle.';
