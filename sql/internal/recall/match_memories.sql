-- The lexical score of rank_memories for the memories of the account, without an index by looking at each of them; and
-- from the operator's indexes (options/large_accounts.sql) for those alone whose score is above 0.
--   languages, counts: of count_candidates(), to read from the indexes; NULL to look at each memory
create or replace function memstore.match_memories(
  actor uuid,
  query text,
  languages text[] default null,
  counts bigint[] default null
)
returns table (id uuid, bucket text, inserted_at timestamptz, score double precision)
language plpgsql
stable
security invoker
as $$
declare
  v_indexed boolean := languages is not null;
  v_previous_share double precision;
  v_next_share double precision;
begin
  select s.previous_share, s.next_share
  into v_previous_share, v_next_share
  from memstore.settings s;

  return query
  with candidates as materialized (
    select m.id, m.bucket, m.language, m.source_ref, m.inserted_at, m.search_vector
    from memstore.memories m
    where m.user_id = match_memories.actor
    and m.superseded_at is null
    and m.bucket in ('user', 'learned')
  ),
  turns as materialized (
    select l.language, l.n, (memstore.lexemes(l.language, left(match_memories.query, 512)))[:64] as lexemes
    from (
      select c.language, count(*) as n
      from candidates c
      where not v_indexed
      group by c.language
      union all
      select g.language, g.n
      from unnest(match_memories.languages, match_memories.counts) g (language, n)
    ) l
  ),
  questions as materialized (
    -- A lexeme has neither quotes nor backslashes: the text function makes separators of them.
    select t.language, ('''' || array_to_string(t.lexemes, ''' | ''') || '''')::tsquery as any_word
    from turns t
    where t.lexemes <> '{}'
  ),
  words as materialized (
    select row_number() over () as number, t.language, t.n, ('''' || w.lexeme || '''')::tsquery as term
    from turns t
    cross join unnest(t.lexemes) w (lexeme)
  ),
  matched as materialized (
    select c.id, c.language, c.source_ref, c.search_vector
    from questions q
    join candidates c on c.language = q.language and c.search_vector @@ q.any_word
    where not v_indexed
    union all
    select m.*
    from questions q
    -- OFFSET keeps the words with the index on them.
    cross join lateral (
      select i.id, i.language, i.source_ref, i.search_vector
      from memstore.memories i
      where v_indexed
      and i.user_id = match_memories.actor
      and i.search_vector @@ q.any_word
      and i.superseded_at is null
      and i.bucket in ('user', 'learned')
      offset 0
    ) m
    where m.language = q.language
  ),
  hits as materialized (
    select m.id, w.number
    from words w
    join matched m on m.language = w.language and m.search_vector @@ w.term
  ),
  weights as materialized (
    select w.number, w.weight / sum(w.weight) over (partition by w.language) as weight
    from (
      select
        w.number,
        w.language,
        ln(1 + (w.n - coalesce(h.df, 0) + 0.5::double precision) / (coalesce(h.df, 0) + 0.5::double precision)) as weight
      from words w
      left join (
        select h.number, count(*) as df
        from hits h
        group by h.number
      ) h on h.number = w.number
    ) w
  ),
  -- The memories of the sources that have a word, each with those before and after it.
  places as materialized (
    select s.id, lag(s.id) over source as previous_id, lead(s.id) over source as next_id
    from (
      select c.id, c.language, c.source_ref, c.inserted_at
      from candidates c
      where not v_indexed
      and c.source_ref in (select m.source_ref from matched m)
      union all
      select m.id, m.language, m.source_ref, m.inserted_at
      from (select distinct m.source_ref, m.language from matched m where v_indexed and m.source_ref is not null) r
      join memstore.memories m on m.source_ref = r.source_ref and m.language = r.language
      where m.user_id = match_memories.actor
      and m.superseded_at is null
      and m.bucket in ('user', 'learned')
    ) s
    window source as (partition by s.source_ref, s.language order by s.inserted_at, s.id)
  ),
  scores as materialized (
    select c.id, sum(w.weight * c.share) as score
    from (
      -- A word of a row counts for the rows next to it in the same source too, by less.
      select n.id, n.number, max(n.share) as share
      from (
        select h.id, h.number, 1::double precision as share
        from hits h
        union all
        select n.id, h.number, n.share
        from hits h
        join places p on p.id = h.id
        cross join lateral (values (p.next_id, v_previous_share), (p.previous_id, v_next_share)) n (id, share)
        where n.id is not null
      ) n
      group by n.id, n.number
    ) c
    join weights w on w.number = c.number
    group by c.id
  )
  select c.id, c.bucket, c.inserted_at, coalesce(s.score, 0)
  from candidates c
  left join scores s on s.id = c.id
  where not v_indexed
  union all
  select m.id, m.bucket, m.inserted_at, s.score
  from scores s
  join memstore.memories m on m.id = s.id
  where v_indexed;
end
$$;

comment on function memstore.match_memories(uuid, text, text[], bigint[]) is 'The lexical scores of the account''s memories.';
