-- Whether the operator's indexes are there (words_are_indexed), and the faster way for this query: at most one in fifteen
-- of the account's memories has a word of it. Beyond that, reading each memory is. NULL, without candidates.
--   languages, counts: of count_candidates()
create or replace function memstore.words_are_rare(actor uuid, query text, languages text[], counts bigint[])
returns boolean
language plpgsql
stable
security invoker
as $$
declare
  v_most bigint;
begin
  if not memstore.words_are_indexed(actor) then
    return false;
  end if;
  v_most := (select sum(c.n) from unnest(counts) c (n))::bigint / 15;
  return v_most >= (
    select count(*)
    from (
      select memstore.any_lexeme(memstore.query_lexemes(l.language, query)) as any_word
      from unnest(languages) l (language)
      offset 0
    ) t
    cross join lateral (
      select m.id
      from memstore.memories m
      where case when m.superseded_at is null and m.bucket in ('user', 'learned') then array[m.user_id] end @> array[actor]
      and m.search_vector @@ t.any_word
      limit v_most + 1
    ) m
  );
end
$$;

comment on function memstore.words_are_rare(uuid, text, text[], bigint[]) is 'Whether few of an account''s memories have a word of the query.';
