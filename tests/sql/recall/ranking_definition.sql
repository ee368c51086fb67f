-- The ranking and recall as they are defined, statement by statement, with joins where the store has masks. A test holds
-- memstore's functions to these, on random accounts. What is compared is not repeated here: the text function, the
-- settings, the lines of a note.
create schema definition;
set search_path = pg_catalog, pg_temp;

create function definition.similarities(ids uuid[], embedding real[], embedding_model text)
returns table (id uuid, similarity double precision)
language plpgsql
stable
as $$
begin
  if ids is null then
    return;
  end if;
  if to_regtype('public.vector') is not null then
    return query
    select m.id, 1 - (m.embedding::public.vector operator(public.<=>) similarities.embedding::public.vector)
    from memstore.memories m
    where m.id = any (similarities.ids)
    and m.embedding_model = similarities.embedding_model
    and cardinality(m.embedding) = cardinality(similarities.embedding);
    return;
  end if;
  return query
  select
    m.id,
    (
      select sum(u.a * u.b) / sqrt(sum(u.a * u.a) * sum(u.b * u.b))
      from unnest(m.embedding::double precision[], similarities.embedding::double precision[]) u (a, b)
    )
  from memstore.memories m
  where m.id = any (similarities.ids)
  and m.embedding_model = similarities.embedding_model
  and cardinality(m.embedding) = cardinality(similarities.embedding);
end
$$;

-- Whether a query of these words names the memory: by the first word of a label.
create function definition.is_named(body text, language text, words text[])
returns boolean
language sql
stable
as $$
  select coalesce(
    cardinality(string_to_array(rtrim(l.label), ' ')) <= 3
      and w.lexemes <> '{}'
      and is_named.words @> w.lexemes
      and memstore.lexemes(is_named.language, split_part(l.label, ' ', 1)) <> '{}',
    false
  )
  from (select substring(is_named.body from '^([^:]{1,41}):')) l (label)
  cross join lateral (select memstore.lexemes('simple', split_part(l.label, ' ', 1))) w (lexemes)
$$;

-- Whether a moment is one that a query names; NULL for no moment where it names one, and false where it names none.
create function definition.is_of(moment timestamptz, query text)
returns boolean
language sql
stable
as $$
  select cardinality(n.months || n.years) > 0
    and (n.months = '{}' or to_char(is_of.moment at time zone 'UTC', 'MM')::integer = any (n.months))
    and (n.years = '{}' or to_char(is_of.moment at time zone 'UTC', 'YYYY')::integer = any (n.years))
  from memstore.query_times(is_of.query) n
$$;

create function definition.match_memories(actor uuid, query text)
returns table (id uuid, score double precision)
language plpgsql
stable
as $$
declare
  v_previous_share double precision;
  v_next_share double precision;
begin
  select s.previous_share, s.next_share
  into v_previous_share, v_next_share
  from memstore.settings s;

  return query
  with candidates as materialized (
    select m.id, m.language, m.source_ref, m.inserted_at, m.search_vector
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
      group by c.language
    ) l
  ),
  words as materialized (
    select row_number() over () as number, t.language, t.n, ('''' || w.lexeme || '''')::tsquery as term
    from turns t
    cross join unnest(t.lexemes) w (lexeme)
  ),
  hits as materialized (
    select c.id, c.source_ref, w.number
    from words w
    join candidates c on c.language = w.language and c.search_vector @@ w.term
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
  places as materialized (
    select
      c.id,
      c.source_ref,
      c.language,
      row_number() over (partition by c.source_ref, c.language order by c.inserted_at, c.id) as place
    from candidates c
    where c.source_ref is not null
  ),
  scores as materialized (
    select c.id, sum(w.weight * c.share) as score
    from (
      select n.id, n.number, max(n.share) as share
      from (
        select h.id, h.number, 1::double precision as share
        from hits h
        union all
        select n.id, h.number, k.share ^ abs(k.distance)
        from hits h
        join places p on p.id = h.id
        cross join (values (1, v_previous_share), (2, v_previous_share), (-1, v_next_share), (-2, v_next_share))
          k (distance, share)
        join places n on n.source_ref = p.source_ref and n.language = p.language and n.place = p.place + k.distance
      ) n
      group by n.id, n.number
    ) c
    join weights w on w.number = c.number
    group by c.id
  )
  select c.id, coalesce(s.score, 0)
  from candidates c
  left join scores s on s.id = c.id;
end
$$;

create function definition.rank_memories(actor uuid, query text, embedding real[], embedding_model text)
returns table (
  memory memstore.memory,
  score double precision,
  lexical_score double precision,
  semantic_score double precision,
  eligible boolean
)
language plpgsql
stable
as $$
declare
  v_hybrid boolean := memstore.embedding_is_usable(embedding, embedding_model);
  v_model text := memstore.trim_text(embedding_model);
  v_words text[] := (memstore.lexemes('simple', left(query, 512)))[:64];
  v_settings memstore.settings;
begin
  if coalesce(memstore.trim_text(query), '') = '' then
    return;
  end if;
  select s.*
  into v_settings
  from memstore.settings s;

  return query
  with lexical as materialized (
    select l.*
    from definition.match_memories(actor, query) l
  ),
  fused as (
    select
      m as memory,
      memstore.fuse(l.score, greatest(s.similarity, 0), v_hybrid)
        * (1 + case when definition.is_named(m.body, m.language, v_words) then v_settings.speaker_share else 0 end)
        * (1 + case when definition.is_of(m.inserted_at, query) then v_settings.time_share else 0 end) as fused,
      round(1e6 * l.score) / 1e6 as lexical_score,
      round(1e6 * case when s.similarity < 0 then 0 else s.similarity end) / 1e6 as semantic_score
    from lexical l
    join memstore.memories m on m.id = l.id
    left join definition.similarities(
      case when v_hybrid then array(select l.id from lexical l) end, rank_memories.embedding, v_model
    ) s on s.id = l.id
  )
  select
    memstore.to_memory(f.memory),
    f.score,
    f.lexical_score,
    f.semantic_score,
    -- Of one body only the best of those that are.
    f.near and row_number() over (
      partition by f.near, (f.memory).body order by f.score desc, (f.memory).inserted_at desc, (f.memory).id
    ) = 1
  from (
    select
      f.*,
      f.above and (
        f.semantic_score is null
        or f.score >= v_settings.score_share * max(f.score) filter (where f.above) over ()
        or f.semantic_score > 0.8 * max(f.semantic_score) filter (where f.above) over ()
      ) as near
    from (
      select
        f.*,
        case
          when (f.memory).bucket = 'learned' then
            f.lexical_score > v_settings.lexical_floor or coalesce(f.semantic_score > v_settings.semantic_floor, false)
          else not coalesce(f.lexical_score = 0 and f.semantic_score < v_settings.user_floor, false)
        end as above,
        round(
          1e6 * (f.fused + v_settings.source_share * f.best)
            / (
              (1 + v_settings.speaker_share)
              * (1 + v_settings.source_share)
              * (1 + case when definition.is_of(null, query) is null then v_settings.time_share else 0 end)
            )
        ) / 1e6 as score
      from (
        select
          f.*,
          -- A memory without a source is one of its own.
          max(f.fused) over (
            partition by (f.memory).source_ref, case when (f.memory).source_ref is null then (f.memory).id end
          ) as best
        from fused f
      ) f
    ) f
  ) f
  order by f.score desc, (f.memory).inserted_at desc, (f.memory).id;
end
$$;

create function definition.recall(
  actor uuid,
  query text,
  embedding real[],
  embedding_model text,
  maximum_attached integer,
  maximum_attached_characters integer,
  out memories jsonb,
  out dropped integer,
  out unembedded integer,
  out backend text,
  out note text
)
language plpgsql
stable
as $$
declare
  v_hybrid boolean := memstore.embedding_is_usable(embedding, embedding_model);
  v_best memstore.memory[];
  v_eligible integer;
  v_memory memstore.memory;
  v_left integer := maximum_attached_characters;
  v_lines text[] := '{}'::text[];
  v_authors uuid[] := '{}'::uuid[];
begin
  backend := case when coalesce(memstore.trim_text(query), '') = '' then 'none' when v_hybrid then 'hybrid' else 'lexical' end;
  select
    coalesce(array_agg(r.memory order by r.position) filter (where r.eligible), '{}'),
    count(*) filter (where r.eligible),
    case when v_hybrid then count(*) - count(r.semantic_score) else 0 end
  into v_best, v_eligible, unembedded
  from definition.rank_memories(actor, query, embedding, embedding_model) with ordinality
    r (memory, score, lexical_score, semantic_score, eligible, position);

  memories := '[]';
  foreach v_memory in array v_best[:maximum_attached] loop
    continue when char_length(v_memory.body) > v_left;
    v_left := v_left - char_length(v_memory.body);
    memories := memories || to_jsonb(v_memory);
    v_lines := v_lines || memstore.note_line(
      v_memory.bucket || ', ' || memstore.age_text(v_memory.inserted_at),
      v_memory.body
    );
  end loop;
  dropped := v_eligible - cardinality(v_lines);

  if (select s.system_recall_enabled from memstore.settings s) then
    for v_memory in
      select (c.memory).*
      from definition.rank_claims(actor, query, embedding, embedding_model) with ordinality c
      order by c.ordinality
    loop
      exit when cardinality(v_authors) >= least(2, maximum_attached);
      continue when v_memory.user_id = any (v_authors) or char_length(v_memory.body) > v_left;
      v_left := v_left - char_length(v_memory.body);
      v_authors := v_authors || v_memory.user_id;
      memories := memories || (to_jsonb(v_memory) || '{"status": "admitted"}');
      v_lines := v_lines || memstore.note_line(
        format('(system, as of %s, admitted)', to_char(v_memory.as_of, 'YYYY-MM-DD')),
        v_memory.body
      );
    end loop;
  end if;

  if dropped > 0 then
    v_lines := v_lines || format(
      '[From memory: %s more left out; at most %s memories and %s characters are attached]',
      dropped,
      maximum_attached,
      maximum_attached_characters
    );
  end if;
  note := nullif(array_to_string(v_lines, E'\n'), '');
end
$$;

-- All admitted claims are considered: of a store in which no word has more claims than a turn considers.
create function definition.rank_claims(actor uuid, query text, embedding real[], embedding_model text)
returns table (
  memory memstore.memory,
  score double precision,
  lexical_score double precision,
  semantic_score double precision,
  eligible boolean
)
language plpgsql
stable
as $$
declare
  v_hybrid boolean := memstore.embedding_is_usable(embedding, embedding_model);
  v_model text := memstore.trim_text(embedding_model);
  v_settings memstore.settings;
begin
  select s.*
  into v_settings
  from memstore.settings s;
  if not v_settings.system_recall_enabled or coalesce(memstore.trim_text(query), '') = '' then
    return;
  end if;

  return query
  with turns as materialized (
    select l.language, l.n, (memstore.lexemes(l.language, left(query, 512)))[:64] as lexemes
    from (
      select a.language, count(*) as n
      from memstore.admitted_claims a
      group by a.language
    ) l
  ),
  words as materialized (
    select
      w.language,
      w.term,
      ln(1 + (w.n - w.df + 0.5::double precision) / (w.df + 0.5::double precision)) as weight
    from (
      select
        t.language,
        t.n,
        ('''' || l.lexeme || '''')::tsquery as term,
        (
          select count(*)
          from memstore.admitted_claims a
          where a.language = t.language
          and a.search_vector @@ ('''' || l.lexeme || '''')::tsquery
        ) as df
      from turns t
      cross join unnest(t.lexemes) l (lexeme)
    ) w
  ),
  scores as (
    select
      a.memory_id as id,
      a.user_id,
      a.inserted_at,
      coalesce(
        (
          select sum(w.weight) filter (where a.search_vector @@ w.term) / sum(w.weight)
          from words w
          where w.language = a.language
        ),
        0
      ) as lexical,
      (
        select s.similarity
        from definition.similarities(case when v_hybrid then array[a.memory_id] end, embedding, v_model) s
      ) as similarity
    from memstore.admitted_claims a
  ),
  ranked as (
    select
      r.*,
      row_number() over (order by r.score desc, r.inserted_at desc, r.id) as position,
      row_number() over (partition by r.user_id order by r.score desc, r.inserted_at desc, r.id) as round,
      least(count(*) over (), v_settings.maximum_system_pool) as slots
    from (
      select
        s.id,
        s.user_id,
        s.inserted_at,
        memstore.fuse(s.lexical, greatest(s.similarity, 0), v_hybrid) as score,
        round(1e6 * s.lexical) / 1e6 as lexical_score,
        round(1e6 * case when s.similarity < 0 then 0 else s.similarity end) / 1e6 as semantic_score
      from scores s
    ) r
    where r.lexical_score > v_settings.lexical_floor
    or r.semantic_score > v_settings.semantic_floor
  ),
  pool as (
    select r.*, min(r.position) over (partition by r.user_id) as best
    from ranked r
    where r.round <= ceil(r.slots / 4.0)
    order by r.round, best
    limit (select max(r.slots) from ranked r)
  )
  select memstore.to_memory(m), p.score, p.lexical_score, p.semantic_score, true
  from pool p
  join memstore.memories m on m.id = p.id
  order by p.round, p.best;
end
$$;
