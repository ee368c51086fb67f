-- Whether a stored row is what a repeated call would write: all that never changes, so neither times nor
-- the embedding. as_of_given: false where the call left the date to its default, which moves on at midnight.
create or replace function memstore.same_content(stored memstore.memories, candidate memstore.memories, as_of_given boolean default true)
returns boolean
language sql
immutable parallel safe
security invoker
as $$
  select
    row(stored.user_id, stored.bucket, stored.body, stored.source_ref, stored.language, stored.slug, stored.entity,
      stored.tier, stored.admission, stored.evidence_refs, stored.stance)
    is not distinct from
    row(candidate.user_id, candidate.bucket, candidate.body, candidate.source_ref, candidate.language, candidate.slug,
      candidate.entity, candidate.tier, candidate.admission, candidate.evidence_refs, candidate.stance)
    and (not as_of_given or stored.as_of is not distinct from candidate.as_of)
$$;

comment on function memstore.same_content(memstore.memories, memstore.memories, boolean)
is 'Whether a stored row is what a repeated call would write.';
