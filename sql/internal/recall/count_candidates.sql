-- How many memories of the account a recall can attach: of each language (n of the lexical score), and of the bucket
-- user, which are all eligible.
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
    array_agg(l.language),
    array_agg(l.n),
    coalesce(sum(l.of_user), 0)::bigint
  into languages, counts, of_user
  from (
    select m.language, count(*) as n, count(*) filter (where m.bucket = 'user') as of_user
    from (
      select m.language, m.bucket
      from memstore.memories m
      where m.user_id = count_candidates.actor
      and m.superseded_at is null
      and m.bucket in ('user', 'learned')
      order by m.inserted_at desc, m.id desc
      offset 0
    ) m
    group by m.language
  ) l;
end
$$;

comment on function memstore.count_candidates(uuid) is 'How many memories of the account a recall can attach.';
