-- What grant_api grants.
create or replace view memstore.api_functions
with (security_invoker = true)
as
select p.oid::regprocedure as signature, p.proname::text as name
from pg_catalog.pg_proc p
join memstore.api f on f.name = p.proname
where p.pronamespace = 'memstore'::regnamespace
and not f.owner_only;

comment on view memstore.api_functions is 'The functions that grant_api grants.';
