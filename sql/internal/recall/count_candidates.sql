-- How many memories of the account a recall can attach: of each language (n of the lexical score), and of the bucket
-- user, which are all eligible. The triggers that count the account's live memories keep them.
create or replace function memstore.count_candidates(
  actor uuid,
  out languages text[],
  out counts bigint[],
  out of_user bigint
)
language plpgsql
stable
security invoker
-- As in score_memories: the rows come from memories_live_idx.
set enable_sort = off
set jit = off
as $$
begin
  select
    array_agg(c.key),
    array_agg((c.value ->> 0)::bigint),
    coalesce(sum((c.value ->> 1)::bigint), 0)::bigint
  into languages, counts, of_user
  from memstore.users u
  cross join jsonb_each(u.candidates) c (key, value)
  where u.id = count_candidates.actor;
end
$$;

comment on function memstore.count_candidates(uuid) is 'How many memories of the account a recall can attach.';
