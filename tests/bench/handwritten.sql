-- memstore.recall(:actor, :turn), lexical and with the flag off, as the one statement that somebody would write who has
-- one account's turn to answer, can't be refused, and pays for no function but the one that reads a text. Its answer is
-- the function's, which the benchmark compares before it measures. It does less: no two memories of an account have one
-- text here, so it doesn't compare texts, and it has no scopes and filters.
with recursive settings as materialized (
  select s.*
  from memstore.settings s
),
candidates as materialized (
  select
    m.id,
    m.language,
    m.bucket,
    m.source_ref,
    m.inserted_at,
    char_length(m.body) as characters,
    case when strpos(left(m.body, 42), ':') > 1 then split_part(m.body, ':', 1) end as label,
    m.search_vector
  from memstore.memories m
  where m.user_id = :actor
  and m.superseded_at is null
  and m.bucket in ('user', 'learned')
),
turn as materialized (
  select l.language, l.n, t.lexeme, ('''' || t.lexeme || '''')::tsquery as term, 1::bigint << (t.place::integer - 1) as bit
  from (
    select c.language, count(*) as n
    from candidates c
    group by c.language
  ) l
  cross join unnest((memstore.lexemes(l.language, left(:turn, 512)))[:64]) with ordinality t (lexeme, place)
),
any_word as materialized (
  select t.language, string_agg(t.term::text, ' | ')::tsquery as terms
  from turn t
  group by t.language
),
found as materialized (
  select c.id, c.source_ref, c.language, c.search_vector
  from any_word a
  join candidates c on c.language = a.language and c.search_vector @@ a.terms
),
hits as materialized (
  select c.id, c.source_ref, t.language, t.bit
  from turn t
  join found c on c.language = t.language and c.search_vector @@ t.term
),
weighted as (
  select
    t.language,
    t.bit,
    ln(1 + (t.n - count(h.id) + 0.5::double precision) / (count(h.id) + 0.5::double precision)) as weight
  from turn t
  left join hits h on h.language = t.language and h.bit = t.bit
  group by t.language, t.bit, t.n
),
shares as materialized (
  select w.language, w.bit, w.weight / sum(w.weight) over (partition by w.language) as share
  from weighted w
),
-- Which of the turn's words a row has,
own as materialized (
  select h.id, h.source_ref, h.language, bit_or(h.bit) as bits
  from hits h
  group by h.id, h.source_ref, h.language
),
-- and the rows next to it in its source, if one of the source has any.
beside as (
  select
    c.id,
    coalesce(lag(o.bits, 1) over source, 0) as previous,
    coalesce(lag(o.bits, 2) over source, 0) as previous_2,
    coalesce(lead(o.bits, 1) over source, 0) as next,
    coalesce(lead(o.bits, 2) over source, 0) as next_2
  from candidates c
  left join own o on o.id = c.id
  where (c.source_ref, c.language) in (
    select o.source_ref, o.language
    from own o
  )
  window source as (partition by c.source_ref, c.language order by c.inserted_at, c.id)
),
-- The speakers that the turn names.
speakers as materialized (
  select l.language, l.label
  from (
    select distinct c.language, c.label, split_part(c.label, ' ', 1) as speaker
    from own o
    join candidates c on c.id = o.id
    where cardinality(string_to_array(rtrim(c.label), ' ')) <= 3
    -- So that each is read once, and not for each pair of rows.
    offset 0
  ) l
  cross join lateral memstore.lexemes('simple', l.speaker) x (lexemes)
  where x.lexemes <> '{}'
  and x.lexemes <@ (memstore.lexemes('simple', left(:turn, 512)))[:64]
  and memstore.lexemes(l.language, l.speaker) <> '{}'
),
words as (
  select
    c.id,
    c.language,
    c.bucket,
    c.source_ref,
    c.inserted_at,
    c.characters,
    s.label is not null as named,
    coalesce(o.bits, 0) as own,
    coalesce(b.previous, 0) as previous,
    coalesce(b.previous_2, 0) as previous_2,
    coalesce(b.next, 0) as next,
    coalesce(b.next_2, 0) as next_2
  from candidates c
  left join own o on o.id = c.id
  left join beside b on b.id = c.id
  left join speakers s on s.language = c.language and s.label = c.label
),
lexical as materialized (
  select
    w.id,
    w.bucket,
    w.source_ref,
    w.inserted_at,
    w.characters,
    w.named,
    case
      when w.own | w.previous | w.previous_2 | w.next | w.next_2 = 0 then 0
      else (
        select
          round(
            sum(
              s.share * case
                when w.own & s.bit <> 0 then 1
                else greatest(
                  case when w.previous & s.bit <> 0 then o.previous_share end,
                  case when w.previous_2 & s.bit <> 0 then o.previous_share ^ 2 end,
                  case when w.next & s.bit <> 0 then o.next_share end,
                  case when w.next_2 & s.bit <> 0 then o.next_share ^ 2 end
                )
              end
            )::numeric,
            6
          )::double precision
        from shares s
        where s.language = w.language
      )
    end as score
  from words w
  cross join settings o
),
weighed as materialized (
  select l.*, l.score * case when l.named then 1 + o.speaker_share else 1 end as own
  from lexical l
  cross join settings o
),
eligible as materialized (
  select
    w.id,
    w.inserted_at,
    w.characters,
    round(
      (
        (w.own + o.source_share * case when w.source_ref is null then w.own else w.best end)
        / ((1 + o.speaker_share) * (1 + o.source_share))
      )::numeric,
      6
    )::double precision as score
  from (
    select w.*, max(w.own) over (partition by w.source_ref) as best
    from weighed w
  ) w
  cross join settings o
  where w.bucket = 'user'
  or w.score > o.lexical_floor
),
best as materialized (
  select e.id, e.characters, row_number() over (order by e.score desc, e.inserted_at desc, e.id) as rank
  from eligible e
  order by e.score desc, e.inserted_at desc, e.id
  limit (select s.maximum_attached from settings s)
),
walk (rank, room, attached) as (
  select 0::bigint, s.maximum_attached_characters, null::uuid
  from settings s
  union all
  select
    b.rank,
    case when b.characters <= w.room then w.room - b.characters else w.room end,
    case when b.characters <= w.room then b.id end
  from walk w
  join best b on b.rank = w.rank + 1
),
attached as materialized (
  select
    w.rank,
    memstore.to_memory(m) as memory,
    m.bucket,
    floor(extract(epoch from statement_timestamp() - m.inserted_at))::bigint as age,
    regexp_replace(
      regexp_replace(
        m.body,
        '[\u0001-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]',
        ' ',
        'g'
      ),
      '\[(?=[^!-~]{0,8}f[^!-~]{0,8}r[^!-~]{0,8}o[^!-~]{0,8}m[^!-~]{0,8}m[^!-~]{0,8}e[^!-~]{0,8}m[^!-~]{0,8}o[^!-~]{0,8}r[^!-~]{0,8}y[^!-~]{0,8})',
      '(',
      'gi'
    ) as line
  from walk w
  -- LIMIT keeps a small store from being read whole for these few rows.
  cross join lateral (
    select m.*
    from memstore.memories m
    where m.id = w.attached
    limit 1
  ) m
),
counted as (
  select
    coalesce(jsonb_agg(to_jsonb(a.memory) order by a.rank), '[]') as memories,
    ((select count(*) from eligible e) - count(*))::integer as dropped,
    string_agg(
      '[From memory: ' || a.bucket || ', '
      || case
        when a.age < 60 then 'just now'
        else (
          select u.number || ' ' || u.unit || case when u.number > 1 then 's' else '' end || ' ago'
          from (
            select
              case
                when a.age >= 31536000 then a.age / 31536000
                when a.age >= 2592000 then a.age / 2592000
                when a.age >= 86400 then a.age / 86400
                when a.age >= 3600 then a.age / 3600
                else a.age / 60
              end as number,
              case
                when a.age >= 31536000 then 'year'
                when a.age >= 2592000 then 'month'
                when a.age >= 86400 then 'day'
                when a.age >= 3600 then 'hour'
                else 'minute'
              end as unit
          ) u
        )
      end
      || '] ' || a.line,
      E'\n' order by a.rank
    ) as lines
  from attached a
)
select
  c.memories,
  c.dropped,
  0 as unembedded,
  'lexical' as backend,
  concat_ws(
    E'\n',
    c.lines,
    case
      when c.dropped > 0 then
        '[From memory: ' || c.dropped || ' more left out; at most ' || s.maximum_attached || ' memories and '
        || s.maximum_attached_characters || ' characters are attached]'
    end
  ) as note
from counted c
cross join settings s
