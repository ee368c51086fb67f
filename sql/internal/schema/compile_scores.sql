-- Writes the functions that score memories and claims. Their texts differ only in where the rows come from and in how
-- embeddings are compared, so they stand here once:
--   score_memories(actor, query, embedding, embedding_model, languages, counts, scopes, filters, digests, alone):
--     reads each of the account's memories;
--   score_all_memories(actor, query, embedding, embedding_model, languages, counts, scopes, filters, superseded):
--     likewise, and where superseded isn't NULL the superseded ones, whose languages stand in languages from that
--     place on;
--   score_indexed_memories(actor, query, languages, counts, scopes, filters, digests, alone): reads those that have a
--     word of the query from the operator's indexes (options/large_accounts.sql);
--   similarities(ids, embedding, embedding_model): the similarity of each of these that has an embedding of the model;
--   nearest_claims(embedding, embedding_model, number): so many of the admitted claims, those of whose embeddings of the
--     model the fewest numbers have another sign; of equals the newest, then by id.
-- The first three return what rank_memories says, of the memories with a score above 0; score_all_memories of all, with
-- the memories, so that nothing looks them up again:
--   embedding, embedding_model: usable ones (embedding_is_usable), or NULL
--   languages, counts: of count_candidates()
--   scopes, filters: of read_scopes() and read_filter(); a memory that is not within them is as one that is not there
--   digests: whether to return the digests of bodies, for twins to be found
--   alone: whether neither neighbours nor label and source count
-- Embeddings are compared through pgvector where it is installed, in whichever schema, else in plain SQL. An extension
-- that is dropped afterwards is noticed; one that is added is used once the code is loaded again.
create or replace function memstore.compile_scores()
returns void
language plpgsql
volatile
security invoker
set search_path = pg_catalog, pg_temp
as $compile$
declare
  -- Which words of the query a row has is a mask of at most 64 bits, and all that a row needs of its neighbours is
  -- their masks, and of its source the best score. So no row is joined with a row, and the cost is linear whatever the
  -- statistics make of the plan.
  --   %1$s: the rows, each with its turn: the place of its language in languages
  --   %2$s: the similarity of r.embedding
  --   %3$s: masks, and the other rows of its sources where it has not all of them
  --   %4$s: whether f is eligible
  -- What a row carries is its memory, the digest of its body, or NULL.
  c_ranking constant text := $$
    with turns as materialized (
      select t.turn, t.n, t.lexemes, memstore.any_lexeme(t.lexemes) as any_word
      from (
        select t.turn, t.n, memstore.query_lexemes(t.language, query) as lexemes
        from unnest(languages, counts) with ordinality t (language, n, turn)
        -- OFFSET, here and below: what is costly is computed once, and not wherever it is read.
        offset 0
      ) t
    ),
    words as materialized (
      select t.turn, t.n, ('''' || w.lexeme || '''')::tsquery as term, 1::bigint << (w.number - 1)::integer as bit
      from turns t
      cross join unnest(t.lexemes) with ordinality w (lexeme, number)
    ),
    masks as materialized (
      select
        m.id,
        m.bucket,
        m.turn,
        m.source_ref,
        1::bigint << (hashtext(m.source_ref) & 63) as source_key,
        m.inserted_at,
        m.mask,
        m.similarity,
        -- The first word of a label. Where the query has it, the row has a word of the query.
        case
          when m.mask <> 0
            and v_speaker_share > 0
            and strpos(left(m.body, 42), ':') > 1
            and rtrim(split_part(m.body, ':', 1)) not like '%% %% %% %%'
          then split_part(split_part(m.body, ':', 1), ' ', 1)
        end as speaker,
        m.carried
      from (
        select
          r.id,
          r.bucket,
          r.turn,
          r.source_ref,
          r.inserted_at,
          r.body,
          case
            when r.search_vector @@ ((select array_agg(t.any_word order by t.turn) from turns t))[r.turn]
            then (select bit_or(w.bit) from words w where r.search_vector @@ w.term and w.turn = r.turn)
            else 0
          end as mask,
          %2$s as similarity,
          r.carried
        from (%1$s        ) r
        offset 0
      ) m
      where m.mask <> 0
      or m.source_ref is not null
      or m.similarity is not null
      or v_everything
    ),
    combinations as materialized (
      select m.turn, m.mask, count(*) as memories
      from masks m
      where m.mask <> 0
      group by m.turn, m.mask
    ),
    weights as materialized (
      select w.turn, w.bit, w.weight / sum(w.weight) over (partition by w.turn) as weight
      from (
        select w.turn, w.bit, memstore.word_weight(w.n, w.df) as weight
        from (
          select
            w.turn,
            w.bit,
            w.n,
            (
              select coalesce(sum(c.memories), 0)::bigint
              from combinations c
              where c.turn = w.turn
              and c.mask & w.bit <> 0
            ) as df
          from words w
          offset 0
        ) w
      ) w
    ),
    speakers as materialized (
      select s.turn, s.speaker
      from (
        select distinct m.turn, m.speaker
        from masks m
        where m.speaker is not null
        offset 0
      ) s
      -- There can be as many as memories. Of an ASCII word the lexemes are parts, and few have one of the query's.
      where (octet_length(s.speaker) > char_length(s.speaker) or lower(s.speaker collate "C") like any (v_patterns))
      and memstore.speaker_is_named(s.speaker, languages[s.turn], v_words)
    ),
    -- A filter: it lets the sources through that have a score, and few others. Only they need to be sorted.
    sources as materialized (
      select bit_or(m.source_key) as keys
      from masks m
      where m.mask <> 0
      or m.similarity > 0 and v_source_share > 0
    ),
    -- The masks of a source as one array a source: PostgreSQL computes it once for all of its rows.
    neighbours as (
      select
        m.id,
        m.bucket,
        m.turn,
        m.source_ref,
        m.inserted_at,
        m.mask,
        coalesce(m.masks[m.place - 1], 0) as previous,
        coalesce(m.masks[m.place - 2], 0) as previous_2,
        coalesce(m.masks[m.place + 1], 0) as next,
        coalesce(m.masks[m.place + 2], 0) as next_2,
        m.similarity,
        m.speaker,
        m.carried
      from (
        select
          m.id,
          m.bucket,
          m.turn,
          m.source_ref collate "C" as source_ref,
          m.inserted_at,
          m.mask,
          row_number() over source as place,
          array_agg(m.mask) over (source rows between unbounded preceding and unbounded following) as masks,
          m.similarity,
          m.speaker,
          m.carried
        from %3$s m
        where m.source_key & (select s.keys from sources s) <> 0
        window source as (partition by m.source_ref collate "C", m.turn order by m.inserted_at, m.id)
      ) m
      union all
      select
        m.id, m.bucket, m.turn, null, m.inserted_at, m.mask, 0, 0, 0, 0, m.similarity, m.speaker, m.carried
      from masks m
      where (m.source_key & (select s.keys from sources s) <> 0) is not true
    ),
    scores as (
      select
        n.id,
        n.bucket,
        n.source_ref,
        n.inserted_at,
        n.similarity,
        n.speaker is not null and (n.turn, n.speaker) in (select s.turn, s.speaker from speakers s) as named,
        n.carried,
        case
          when n.mask | n.previous | n.previous_2 | n.next | n.next_2 = 0 then 0
          else (
            select sum(
              w.weight * case
                when n.mask & w.bit <> 0 then 1
                else greatest(
                  case when n.previous & w.bit <> 0 then v_previous_share else 0 end,
                  case when n.previous_2 & w.bit <> 0 then v_previous_share * v_previous_share else 0 end,
                  case when n.next & w.bit <> 0 then v_next_share else 0 end,
                  case when n.next_2 & w.bit <> 0 then v_next_share * v_next_share else 0 end
                )
              end
            )
            from weights w
            where w.turn = n.turn
            and w.bit & (n.mask | n.previous | n.previous_2 | n.next | n.next_2) <> 0
          )
        end as lexical
      from neighbours n
      offset 0
    ),
    fused as (
      select
        s.id,
        s.bucket,
        s.source_ref,
        s.inserted_at,
        memstore.fuse(s.lexical, greatest(s.similarity, 0), v_hybrid)
          * case when s.named then 1 + v_speaker_share else 1 end
          * case
            when v_dated
              and (v_months = '{}' or extract(month from s.inserted_at at time zone 'UTC')::integer = any (v_months))
              and (v_years = '{}' or extract(year from s.inserted_at at time zone 'UTC')::integer = any (v_years))
            then 1 + v_time_share
            else 1
          end as score,
        round(1e6 * s.lexical) / 1e6 as lexical_score,
        round(1e6 * case when s.similarity < 0 then 0 else s.similarity end) / 1e6 as semantic_score,
        s.carried
      from scores s
      offset 0
    ),
    ranked as (
      select
        f.id,
        f.bucket,
        f.inserted_at,
        round(
          1e6 * (f.score + v_source_share * case when f.source_ref is null then f.score else max(f.score) over source end)
            / ((1 + v_speaker_share) * (1 + v_source_share) * case when v_dated then 1 + v_time_share else 1 end)
        ) / 1e6 as score,
        f.lexical_score,
        f.semantic_score,
        case f.bucket
          when 'user' then f.semantic_score is null or f.lexical_score > 0 or f.semantic_score >= v_user_floor
          when 'learned' then
            f.lexical_score > v_settings.lexical_floor or coalesce(f.semantic_score > v_settings.semantic_floor, false)
          else false
        end as eligible,
        f.carried
      from fused f
      window source as (partition by f.source_ref)
      offset 0
    )
    select
      f.id,
      f.bucket,
      f.inserted_at,
      f.score,
      f.lexical_score,
      f.semantic_score,
      %4$s,
      f.carried
    from ranked f
    where f.score > 0
    or f.lexical_score > 0
    or f.semantic_score is not null
    or v_everything;
$$;
  c_memories constant text := $$
          select
            m.id,
            m.bucket,
            m.source_ref,
            m.inserted_at,
            m.body,
            m.search_vector,
            m.embedding,
            m.embedding_model,
            %s as carried,
            array_position(languages, m.language) as turn
          from memstore.memories m
          where m.user_id = actor
          and m.superseded_at is null
          and m.bucket in ('user', 'learned')
          and memstore.is_within(m.scope, m.metadata, v_scopes, v_filters)
          order by m.inserted_at desc, m.id desc
          offset 0
$$;
  -- Those of no bucket are never eligible. They have words of their own number, and no source, so that they change
  -- nothing of the others.
  c_superseded_memories constant text := $$
          union all
          select
            m.id,
            null,
            null,
            m.inserted_at,
            m.body,
            m.search_vector,
            m.embedding,
            m.embedding_model,
            memstore.to_memory(m),
            array_position(languages, m.language, v_superseded)
          from memstore.memories m
          where v_superseded is not null
          and m.user_id = actor
          and m.superseded_at is not null
          and m.bucket in ('user', 'learned')
          and memstore.is_within(m.scope, m.metadata, v_scopes, v_filters)
$$;
  c_indexed_memories constant text := $$
          select m.*, case when v_digests then hashtextextended(m.body, 0) end as carried, t.turn
          from turns t
          cross join lateral (
            select m.id, m.bucket, m.language, m.source_ref, m.inserted_at, m.body, m.search_vector
            from memstore.memories m
            where case when m.superseded_at is null and m.bucket in ('user', 'learned') then array[m.user_id] end @> array[actor]
            and m.search_vector @@ t.any_word
            and memstore.is_within(m.scope, m.metadata, v_scopes, v_filters)
            offset 0
          ) m
          where m.language = languages[t.turn]
$$;
  c_indexed_sources constant text := $$(
        select
          m.id,
          m.bucket,
          m.turn,
          m.source_ref,
          m.source_key,
          m.inserted_at,
          bit_or(m.mask) as mask,
          null::double precision as similarity,
          max(m.speaker) as speaker,
          max(m.carried) as carried
        from (
          select m.id, m.bucket, m.turn, m.source_ref, m.source_key, m.inserted_at, m.mask, m.speaker, m.carried
          from masks m
          union all
          select
            m.id,
            m.bucket,
            array_position(languages, m.language),
            s.source_ref,
            s.source_key,
            m.inserted_at,
            0,
            null,
            case when v_digests then hashtextextended(m.body, 0) end
          from (
            select distinct m.source_ref, m.source_key
            from masks m
            where m.source_ref is not null
          ) s
          cross join lateral (
            select m.id, m.bucket, m.language, m.inserted_at, m.body
            from memstore.memories m
            where case when m.superseded_at is null and m.bucket in ('user', 'learned') then array[m.user_id] end = array[actor]
            and m.source_ref = s.source_ref
            and memstore.is_within(m.scope, m.metadata, v_scopes, v_filters)
            offset 0
          ) m
        ) m
        group by m.id, m.bucket, m.turn, m.source_ref, m.source_key, m.inserted_at
      )$$;
  -- By a lateral subquery: for a condition on the model the index on the models would be read, which has every row of
  -- the store that has the model.
  c_similarities constant text := $$
    select m.id, s.similarity
    from (
      select i.id
      from unnest(ids) i (id)
      offset 0
    ) m
    cross join lateral (
      select %s as similarity
      from memstore.memories r
      where r.id = m.id
      offset 0
    ) s
    where s.similarity is not null;
$$;
  --   %1$s: the number of signs that differ, of s.signs
  -- Of any so many claims the farthest is at least as far as that of the nearest. Few are nearer than it, and only those
  -- are sorted. Signs of unequal number are refused, so their number is looked at first, where it can differ at all.
  c_nearest_claims constant text := $$
    with bound as materialized (
      select case when count(*) = number then max(f.distance) else v_dimensions end as distance
      from (
        select %1$s as distance
        from memstore.claim_signs s tablesample system (5) repeatable (0)
        where case when v_mixed and length(s.signs) <> v_dimensions then false else s.embedding_model = v_model end
        order by distance
        limit number
      ) f
    )
    select s.memory_id, s.user_id, s.inserted_at
    from memstore.claim_signs s
    where case
      when v_mixed and length(s.signs) <> v_dimensions then false
      when %1$s > (select b.distance from bound b) then false
      else s.embedding_model = v_model
    end
    order by %1$s, s.inserted_at desc, s.memory_id
    limit number;
$$;
  c_similarity constant text :=
    'case when r.embedding_model = v_model and cardinality(r.embedding) = v_width then %s end';
  c_scores constant text := $$table (
  id uuid,
  bucket text,
  inserted_at timestamptz,
  score double precision,
  lexical_score double precision,
  semantic_score double precision,
  eligible boolean,
  %s
)$$;
  -- Without embeddings there is nothing to compare, and no share of the best score.
  c_no_similarity constant text := 'null::double precision';
  c_eligible constant text := 'f.eligible';
  c_eligible_by_meaning constant text := $$f.eligible and (
        v_score_share = 0
        or f.semantic_score is null
        or f.score >= v_score_share * (select max(r.score) from ranked r where r.eligible)
        -- What answers a turn's second question may have none of its words.
        or f.semantic_score > 0.8 * (select max(r.semantic_score) from ranked r where r.eligible)
      )$$;
  c_by_words constant text := $$
  if v_embedding is null then
    return query%s    return;
  end if;$$;
  c_function constant text := $$
create or replace function memstore.%s
returns %s
language plpgsql
stable%s
security invoker
as %L
$$;
  -- Variables of their own: a field of a row takes longer to read, and these are read for each word of each row.
  c_settings constant text := $$
  v_scopes text[] := scopes;
  v_filters jsonb[] := filters;
  v_previous_share double precision := 0::double precision;
  v_next_share double precision := 0::double precision;
  v_speaker_share double precision := 0::double precision;
  v_source_share double precision := 0::double precision;
  v_time_share double precision := 0::double precision;
  v_months integer[];
  v_years integer[];
  v_dated boolean := false;
  v_user_floor double precision;
  v_words text[];
  v_patterns text[];$$;
  c_read_settings constant text := $$
  select s.*
  into v_settings
  from memstore.settings s;
  v_user_floor := v_settings.user_floor;
  if not v_alone then
    v_previous_share := v_settings.previous_share;
    v_next_share := v_settings.next_share;
    v_speaker_share := v_settings.speaker_share;
    v_source_share := v_settings.source_share;
    v_time_share := v_settings.time_share;
  end if;
  if v_time_share > 0 then
    select t.months, t.years, t.months <> '{}' or t.years <> '{}'
    into v_months, v_years, v_dated
    from memstore.query_times(query) t;
  end if;
  if v_speaker_share > 0 then
    v_words := memstore.query_lexemes('simple', query);
    v_patterns := string_to_array('%' || array_to_string(v_words, '%,%') || '%', ',');
  end if;$$;
  c_through_pgvector constant text := $$
  if v_embedding is not null and to_regtype(%L) is not null then
    return query%s    return;
  end if;$$;
  v_plain constant text := format(
    c_similarity,
    $$(
            select sum(e.x * e.y) / sqrt(sum(e.x * e.x) * v_square)
            from (select unnest(r.embedding::double precision[]) as x, unnest(v_numbers) as y offset 0) e
          )$$
  );
  v_vector text;
  v_pgvector text;
  v_hamming text;
  v_name text;
  v_arguments text;
  v_returned text;
  v_variables text;
  v_rows text;
begin
  -- The query's embedding in a subquery, so that it is cast once.
  select
    format('%I.vector', n.nspname),
    format(
      c_similarity,
      format('1 - (r.embedding::%1$I.vector operator(%1$I.<=>) (select v_embedding::%1$I.vector))', n.nspname)
    )
  into v_vector, v_pgvector
  from pg_extension e
  join pg_namespace n on n.oid = e.extnamespace
  where e.extname = 'vector';

  -- Since 0.7.0 of pgvector.
  select format('operator(%I.<~>)', n.nspname)
  into v_hamming
  from pg_operator o
  join pg_namespace n on n.oid = o.oprnamespace
  join pg_depend d on d.classid = 'pg_operator'::regclass and d.objid = o.oid and d.deptype = 'e'
  join pg_extension e on e.oid = d.refobjid and e.extname = 'vector'
  where o.oprname = '<~>'
  and o.oprleft = 'bit'::regtype;

  -- What they return may have changed with the version, which REPLACE refuses.
  drop function if exists
    memstore.score_memories(uuid, text, real[], text, text[], bigint[], boolean),
    memstore.score_memories(uuid, text, real[], text, text[], bigint[], text[], jsonb[], boolean, boolean),
    memstore.score_indexed_memories(uuid, text, text[], bigint[]),
    memstore.score_indexed_memories(uuid, text, text[], bigint[], text[], jsonb[], boolean);
  for v_name, v_arguments, v_returned, v_variables, v_rows in
    values (
      'score_memories',
      'digests boolean, alone boolean',
      'digest bigint',
      E'\n  v_digests boolean := digests;\n  v_everything constant boolean := false;\n  v_alone boolean := alone;',
      format(c_memories, 'case when v_digests then hashtextextended(m.body, 0) end')
    ), (
      'score_all_memories',
      'superseded integer',
      'memory memstore.memory',
      E'\n  v_superseded integer := superseded;\n  v_everything constant boolean := true;\n'
        '  v_alone constant boolean := false;',
      '(' || format(c_memories, 'memstore.to_memory(m)') || ')' || c_superseded_memories
    )
  loop
    execute format(
      c_function,
      format(
        '%s(actor uuid, query text, embedding real[], embedding_model text, languages text[], counts bigint[], '
          'scopes text[], filters jsonb[], %s)',
        v_name,
        v_arguments
      ),
      format(c_scores, v_returned),
      -- So that the rows are read in the order of memories_live_idx, and not in any other way: a bitmap scan would go
      -- to rows that were superseded since the last vacuum again each time, and memories_account_body_idx has all that
      -- ever were. A sort that can't be avoided then looks costly enough to be compiled, before PostgreSQL 18.
      E'\nset enable_sort = off\nset jit = off'
        -- The superseded ones come from memories_account_body_idx, in one way in a small store and in a large one.
        || case v_name when 'score_all_memories' then E'\nset enable_bitmapscan = off\nset enable_seqscan = off' else '' end,
      format(
        $$
declare
  v_settings memstore.settings;%s%s
  v_score_share double precision;
  v_hybrid boolean := embedding is not null;
  v_embedding real[] := embedding;
  v_width integer := cardinality(embedding);
  v_model text := memstore.trim_text(embedding_model);
  v_numbers double precision[];
  v_square double precision;
begin%s
  v_score_share := v_settings.score_share;
%s%s
  v_numbers := v_embedding;
  v_square := (select sum(e.x * e.x) from unnest(v_numbers) e (x));
  return query%send
$$,
        v_variables,
        c_settings,
        c_read_settings,
        format(c_by_words, format(c_ranking, v_rows, c_no_similarity, 'masks', c_eligible)),
        case
          when v_vector is not null then
            format(
              c_through_pgvector, v_vector, format(c_ranking, v_rows, v_pgvector, 'masks', c_eligible_by_meaning)
            )
        end,
        format(c_ranking, v_rows, v_plain, 'masks', c_eligible_by_meaning)
      )
    );
  end loop;
  execute format(
    c_function,
    'score_indexed_memories('
      'actor uuid, query text, languages text[], counts bigint[], scopes text[], filters jsonb[], digests boolean, '
      'alone boolean'
      ')',
    format(c_scores, 'digest bigint'),
    null,
    format(
      $$
declare
  v_settings memstore.settings;
  v_digests boolean := digests;
  v_alone boolean := alone;%s
  v_everything constant boolean := false;
  v_hybrid constant boolean := false;
begin%s
  return query%send
$$,
      c_settings,
      c_read_settings,
      format(c_ranking, c_indexed_memories, c_no_similarity, c_indexed_sources, c_eligible)
    )
  );
  execute format(
    c_function,
    'similarities(ids uuid[], embedding real[], embedding_model text)',
    'table (id uuid, similarity double precision)',
    null,
    format(
      $$
declare
  v_embedding real[] := embedding;
  v_width integer := cardinality(embedding);
  v_model text := memstore.trim_text(embedding_model);
  v_numbers double precision[];
  v_square double precision;
begin%s
  v_numbers := v_embedding;
  v_square := (select sum(e.x * e.x) from unnest(v_numbers) e (x));
  return query%send
$$,
      case
        when v_vector is not null
        then format(c_through_pgvector, v_vector, format(c_similarities, v_pgvector))
      end,
      format(c_similarities, v_plain)
    )
  );
  execute format(
    c_function,
    'nearest_claims(embedding real[], embedding_model text, number integer)',
    'table (memory_id uuid, user_id uuid, inserted_at timestamptz)',
    null,
    format(
      $$
declare
  v_embedding real[] := embedding;
  v_signs bit varying := memstore.sign_bits(v_embedding);
  v_dimensions integer := length(v_signs);
  v_model text := memstore.trim_text(embedding_model);
  -- A model's embeddings have one number of dimensions, and most stores one model.
  v_mixed boolean := exists (select from memstore.embedding_models m where m.dimensions <> v_dimensions);
begin%s
  return query%send
$$,
      case
        when v_hamming is not null
        then format(c_through_pgvector, v_vector, format(c_nearest_claims, 's.signs ' || v_hamming || ' v_signs'))
      end,
      format(c_nearest_claims, 'bit_count(s.signs # v_signs)')
    )
  );
  comment on function
    memstore.score_memories(uuid, text, real[], text, text[], bigint[], text[], jsonb[], boolean, boolean) is
    'The scores of the account''s memories; compiled for the pgvector that is installed, if one is.';
  comment on function
    memstore.score_all_memories(uuid, text, real[], text, text[], bigint[], text[], jsonb[], integer) is
    'The scores of all of the account''s memories, with these; compiled likewise.';
  comment on function memstore.score_indexed_memories(uuid, text, text[], bigint[], text[], jsonb[], boolean, boolean) is
    'The scores of the account''s memories that have a word of the query, from the operator''s indexes; compiled.';
  comment on function memstore.similarities(uuid[], real[], text) is
    'How near the embeddings of memories are to a query''s; compiled for the pgvector that is installed, if one is.';
  comment on function memstore.nearest_claims(real[], text, integer) is
    'The admitted claims that are nearest by the signs of embeddings; compiled likewise.';
end
$compile$;

comment on function memstore.compile_scores() is 'Writes the functions that score memories and claims.';
