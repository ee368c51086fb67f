-- Evidence with its refs and digests erased. The number of pieces and their kinds stay: that a challenge has evidence
-- decides a status, which must not change because its author leaves.
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

comment on function memstore.erase_evidence(jsonb) is 'Evidence with its refs and digests erased.';
