-- The score of a memory for a turn, to 6 decimals: hybrid says whether the turn has an embedding.
create or replace function memstore.fuse(lexical_score double precision, semantic_score double precision, hybrid boolean)
returns double precision
language sql
immutable parallel safe
security invoker
as $$
  select round(1e6 * case when hybrid then 0.6 * lexical_score + 0.4 * coalesce(semantic_score, 0) else lexical_score end) / 1e6
$$;

comment on function memstore.fuse(double precision, double precision, boolean) is 'The score of a memory for a turn.';
