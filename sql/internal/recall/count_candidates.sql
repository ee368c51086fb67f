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
as $$
begin
  select array_agg(l.language), array_agg(l.n), coalesce(sum(l.of_user), 0)::bigint
  into languages, counts, of_user
  from (
    select m.language, count(*) as n, count(*) filter (where m.bucket = 'user') as of_user
    from memstore.memories m
    where m.user_id = count_candidates.actor
    and m.superseded_at is null
    and m.bucket in ('user', 'learned')
    group by m.language
  ) l;
end
$$;

comment on function memstore.count_candidates(uuid) is 'How many memories of the account a recall can attach.';
