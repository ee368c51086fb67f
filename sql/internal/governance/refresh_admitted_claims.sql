-- Updates what system recall reads (admitted_claims, the counts of its lexemes and languages, and
-- claim_signs) after claims changed their status or embedding or were superseded. The caller has updated the row of claim_counter, which serialises the calls.
--   ids: the claims that may have changed
create or replace function memstore.refresh_admitted_claims(ids uuid[])
returns void
language plpgsql
volatile
security invoker
as $$
declare
  v_languages text[];
  v_lexemes text[];
begin
  with removed as (
    delete from memstore.admitted_claims a
    where a.memory_id = any (ids)
    and not exists (
      select
      from memstore.claim_statuses s
      join memstore.memories m on m.id = s.memory_id
      where s.memory_id = a.memory_id
      and s.status = 'admitted'
      and (m.superseded_at is null) is true
    )
    returning a.language, a.search_vector
  ),
  added as (
    insert into memstore.admitted_claims (memory_id, user_id, language, inserted_at, search_vector)
    select m.id, m.user_id, m.language, m.inserted_at, m.search_vector
    from memstore.claim_statuses s
    join memstore.memories m on m.id = s.memory_id
    where s.memory_id = any (ids)
    and s.status = 'admitted'
    and (m.superseded_at is null) is true
    on conflict (memory_id) do nothing
    returning language, search_vector
  ),
  -- Only rebuild_words() meets any.
  updated as (
    update memstore.admitted_claims a
    set search_vector = m.search_vector
    from memstore.memories m
    join memstore.admitted_claims b on b.memory_id = m.id
    where a.memory_id = m.id
    and m.id = any (ids)
    and (m.superseded_at is null) is true
    and b.search_vector <> m.search_vector
    and exists (select from memstore.claim_statuses s where s.memory_id = a.memory_id and s.status = 'admitted')
    returning a.language, b.search_vector as before, a.search_vector
  ),
  changed as materialized (
    select r.language, r.search_vector, -1 as change
    from removed r
    union all
    select a.language, a.search_vector, 1
    from added a
    union all
    select u.language, v.search_vector, v.change
    from updated u
    cross join lateral (values (u.before, -1), (u.search_vector, 1)) v (search_vector, change)
  ),
  counted as (
    insert into memstore.claim_languages as l (language, claims)
    select c.language, sum(c.change)
    from changed c
    group by c.language
    having sum(c.change) <> 0
    on conflict (language) do update
    set claims = l.claims + excluded.claims
    returning language, null::text as lexeme, claims
  ),
  counted_words as (
    insert into memstore.claim_words as w (language, lexeme, claims)
    select c.language, t.lexeme, sum(c.change)
    from changed c
    cross join unnest(tsvector_to_array(c.search_vector)) t (lexeme)
    group by c.language, t.lexeme
    having sum(c.change) <> 0
    on conflict (language, lexeme) do update
    set claims = w.claims + excluded.claims
    returning language, lexeme, claims
  )
  select array_agg(c.language), array_agg(c.lexeme)
  into v_languages, v_lexemes
  from (
    select c.language, c.lexeme, c.claims
    from counted c
    union all
    select w.language, w.lexeme, w.claims
    from counted_words w
  ) c
  where c.claims = 0;

  if v_languages is not null then
    delete from memstore.claim_languages l
    where l.language = any (v_languages)
    and l.claims = 0;
    delete from memstore.claim_words w
    using unnest(v_languages, v_lexemes) c (language, lexeme)
    where w.language = c.language
    and w.lexeme = c.lexeme;
  end if;
  perform memstore.refresh_claim_signs(ids);
end
$$;

comment on function memstore.refresh_admitted_claims(uuid[]) is 'Updates what system recall reads.';
