-- Whether the operator's indexes are there (words_are_indexed), and the faster way for this query: at most one in fifteen
-- of the account's memories has a word of it. Beyond that, reading each memory is. NULL, without candidates.
--   languages, counts: of count_candidates()
create or replace function memstore.words_are_rare(actor uuid, query text, languages text[], counts bigint[])
returns boolean
language plpgsql
stable
security invoker
-- The sample comes from memories_account_body_idx, whatever the statistics say.
set enable_sort = off
as $$
declare
  v_most bigint;
  v_words tsquery[];
begin
  if not memstore.words_are_indexed(actor) then
    return false;
  end if;
  v_words := array(
    select memstore.any_lexeme(memstore.query_lexemes(l.language, query))
    from unnest(languages) with ordinality l (language, place)
    order by l.place
  );
  -- Where one in eight of a sample has a word, the index isn't asked, which would read the account's part of it for
  -- nothing. In the order of their bodies' hashes, so that the newest count no more than others.
  if (
    select count(*) filter (where m.superseded_at is null and m.search_vector @@ v_words[array_position(languages, m.language)]) > 37
    from (
      select m.superseded_at, m.search_vector, m.language
      from memstore.memories m
      where m.user_id = actor
      order by hashtextextended(m.body, 0)
      limit 300
    ) m
  ) then
    return false;
  end if;
  v_most := (select sum(c.n) from unnest(counts) c (n))::bigint / 15;
  return v_most >= (
    select count(*)
    from unnest(v_words) t (any_word)
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
