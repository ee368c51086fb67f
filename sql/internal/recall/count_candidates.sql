-- How many memories of the account a recall can attach, of those within the scopes and filters: of each language (n of
-- the lexical score), and of the bucket user, which are all eligible unless several have one body; and whether several
-- may. Without scopes and filters the counts are those that triggers keep of the account.
create or replace function memstore.count_candidates(
  actor uuid,
  scopes text[],
  filters jsonb[],
  out languages text[],
  out counts bigint[],
  out of_user bigint,
  out has_twins boolean
)
language plpgsql
stable
security invoker
-- As in score_memories: the rows come from memories_live_idx.
set enable_sort = off
set jit = off
as $$
begin
  select u.has_twins is not false
  into has_twins
  from memstore.users u
  where u.id = count_candidates.actor;

  if scopes is null and filters is null then
    select
      array_agg(c.key),
      array_agg((c.value ->> 0)::bigint),
      coalesce(sum((c.value ->> 1)::bigint), 0)::bigint
    into languages, counts, of_user
    from memstore.users u
    cross join jsonb_each(u.candidates) c (key, value)
    where u.id = count_candidates.actor;
  else
    select array_agg(c.language), array_agg(c.memories), coalesce(sum(c.of_user), 0)::bigint
    into languages, counts, of_user
    from (
      select m.language, count(*) as memories, count(*) filter (where m.bucket = 'user') as of_user
      from (
        select m.language, m.bucket
        from memstore.memories m
        where m.user_id = count_candidates.actor
        and m.superseded_at is null
        and m.bucket in ('user', 'learned')
        and memstore.is_within(m.scope, m.metadata, count_candidates.scopes, count_candidates.filters)
        order by m.inserted_at desc, m.id desc
        offset 0
      ) m
      group by m.language
    ) c;
  end if;
end
$$;

comment on function memstore.count_candidates(uuid, text[], jsonb[]) is
  'How many memories of the account a recall can attach.';
