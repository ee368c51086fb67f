-- Evidence as it is stored: of each object the keys kind, ref and digest, their strings trimmed; other keys are
-- dropped. What has another shape, or more objects than the rule admits, is returned as it is, for the rule to refuse.
create or replace function memstore.trim_evidence(evidence_refs jsonb)
returns jsonb
language sql
immutable strict parallel safe
security invoker
as $$
  select case
    when case pg_catalog.jsonb_typeof(evidence_refs)
      when 'array' then pg_catalog.jsonb_array_length(evidence_refs) <= 20
    end then (
      select coalesce(
        pg_catalog.jsonb_agg(
          case
            when pg_catalog.jsonb_typeof(e.item) = 'object' then (
              select coalesce(
                pg_catalog.jsonb_object_agg(
                  f.key,
                  case
                    when pg_catalog.jsonb_typeof(f.value) = 'string'
                      then pg_catalog.to_jsonb(memstore.trim_text(f.value #>> '{}'))
                    else f.value
                  end
                ),
                '{}'
              )
              from pg_catalog.jsonb_each(e.item) f
              where f.key in ('kind', 'ref', 'digest')
            )
            else e.item
          end
          order by e.position
        ),
        '[]'
      )
      from pg_catalog.jsonb_array_elements(evidence_refs) with ordinality e (item, position)
    )
    else evidence_refs
  end
$$;

comment on function memstore.trim_evidence(jsonb) is 'Evidence with its strings trimmed and unknown keys dropped.';
