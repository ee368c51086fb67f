-- Whether a read for these scopes and filters (read_scopes, read_filter) has a memory. One expression, which the
-- planner inlines; a CASE, because the parts of an OR have estimates, which mislead it without statistics.
create or replace function memstore.is_within(scope text, metadata jsonb, scopes text[], filters jsonb[])
returns boolean
language sql
immutable parallel safe
security invoker
as $$
  select case
    when scopes is null and filters is null then true
    else (scopes is null or scope is null or scope = any (scopes))
      and (filters is null or metadata is not null and metadata @> any (filters))
  end
$$;

comment on function memstore.is_within(text, jsonb, text[], jsonb[]) is
  'Whether a read for these scopes and filters has a memory.';
