-- Evidence without what its author wrote: its refs and digests. How many pieces there were stays, and so do their
-- kinds, since a status must not change because an account left.
create or replace function memstore.erase_evidence(evidence_refs jsonb)
returns jsonb
language sql
immutable strict parallel safe
security invoker
as $$
  select pg_catalog.jsonb_agg(
    pg_catalog.jsonb_build_object('kind', e.item -> 'kind', 'ref', '[erased]', 'digest', '[erased]') order by e.position
  )
  from pg_catalog.jsonb_array_elements(evidence_refs) with ordinality e (item, position)
$$;

comment on function memstore.erase_evidence(jsonb) is 'Evidence without what its author wrote.';
