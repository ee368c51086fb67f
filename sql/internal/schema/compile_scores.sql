-- Writes the functions that score memories and claims. Their texts differ only in where the rows come from and in how
-- embeddings are compared, so they stand here once:
--   score_memories(actor, query, embedding, embedding_model, languages, counts, everything): reads each of the
--     account's memories;
--   score_indexed_memories(actor, query, languages, counts): reads those that have a word of the query from the
--     operator's indexes (options/large_accounts.sql);
--   similarities(ids, embedding, embedding_model): the similarity of each of these that has an embedding of the model.
-- The first two return what rank_memories says, of the memories that can have a score above 0; or of everything, and then
-- the memories too, so that nothing looks them up again:
--   embedding, embedding_model: usable ones (embedding_is_usable), or NULL
--   languages, counts: of count_candidates()
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
  -- their masks. So no row is joined with a row, and the cost is linear whatever the statistics make of the plan.
  --   %1$s: the rows, each with its turn: the place of its language in languages
  --   %2$s: the similarity of r.embedding
  --   %3$s: masks, and the other rows of the same sources where masks has not all of them
  c_ranking constant text := $$
    with turns as materialized (
      select t.turn, t.n, t.lexemes, memstore.any_lexeme(t.lexemes) as any_word
      from (
        select t.turn, t.n, (memstore.lexemes(t.language, left(query, 512)))[:64] as lexemes
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
        m.memory
      from (
        select
          r.id,
          r.bucket,
          r.turn,
          r.source_ref,
          r.inserted_at,
          case
            when r.search_vector @@ ((select array_agg(t.any_word order by t.turn) from turns t))[r.turn]
            then (select bit_or(w.bit) from words w where r.search_vector @@ w.term and w.turn = r.turn)
            else 0
          end as mask,
          %2$s as similarity,
          r.memory
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
        select w.turn, w.bit, ln(1 + (w.n - w.df + 0.5::double precision) / (w.df + 0.5::double precision)) as weight
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
    -- A filter: it lets the sources through that have a word, and few others. Only they need to be sorted.
    sources as materialized (
      select bit_or(m.source_key) as keys
      from masks m
      where m.mask <> 0
    ),
    neighbours as (
      select
        m.id,
        m.bucket,
        m.turn,
        m.inserted_at,
        m.mask,
        lag(m.mask, 1, 0::bigint) over source as previous,
        lead(m.mask, 1, 0::bigint) over source as next,
        m.similarity,
        m.memory
      from %3$s m
      where m.source_key & (select s.keys from sources s) <> 0
      window source as (partition by m.source_ref collate "C", m.turn order by m.inserted_at, m.id)
      union all
      select m.id, m.bucket, m.turn, m.inserted_at, m.mask, 0, 0, m.similarity, m.memory
      from masks m
      where (m.source_key & (select s.keys from sources s) <> 0) is not true
    ),
    scores as (
      select
        n.id,
        n.bucket,
        n.inserted_at,
        n.similarity,
        n.memory,
        case
          when n.mask | n.previous | n.next = 0 then 0
          else (
            select sum(
              w.weight * case
                when n.mask & w.bit <> 0 then 1
                else greatest(
                  case when n.previous & w.bit <> 0 then v_settings.previous_share else 0 end,
                  case when n.next & w.bit <> 0 then v_settings.next_share else 0 end
                )
              end
            )
            from weights w
            where w.turn = n.turn
          )
        end as lexical
      from neighbours n
      offset 0
    )
    select
      s.id,
      s.bucket,
      s.inserted_at,
      s.score,
      s.lexical_score,
      s.semantic_score,
      s.bucket = 'user'
        or s.lexical_score > v_settings.lexical_floor
        or coalesce(s.semantic_score > v_settings.semantic_floor, false),
      s.memory
    from (
      select
        s.id,
        s.bucket,
        s.inserted_at,
        memstore.fuse(s.lexical, greatest(s.similarity, 0), v_hybrid) as score,
        round(1e6 * s.lexical) / 1e6 as lexical_score,
        round(1e6 * case when s.similarity < 0 then 0 else s.similarity end) / 1e6 as semantic_score,
        s.memory
      from scores s
      where s.lexical > 0
      or s.similarity is not null
      or v_everything
      offset 0
    ) s;
$$;
  c_memories constant text := $$
          select
            m.id,
            m.bucket,
            m.source_ref,
            m.inserted_at,
            m.search_vector,
            m.embedding,
            m.embedding_model,
            case when v_everything then memstore.to_memory(m) end as memory,
            array_position(languages, m.language) as turn
          from memstore.memories m
          where m.user_id = actor
          and m.superseded_at is null
          and m.bucket in ('user', 'learned')
          order by m.inserted_at desc, m.id desc
          offset 0
$$;
  c_indexed_memories constant text := $$
          select m.*, null::memstore.memory as memory, t.turn
          from turns t
          cross join lateral (
            select m.id, m.bucket, m.language, m.source_ref, m.inserted_at, m.search_vector
            from memstore.memories m
            where case when m.superseded_at is null and m.bucket in ('user', 'learned') then array[m.user_id] end @> array[actor]
            and m.search_vector @@ t.any_word
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
          null::memstore.memory as memory
        from (
          select m.id, m.bucket, m.turn, m.source_ref, m.source_key, m.inserted_at, m.mask
          from masks m
          union all
          select m.id, m.bucket, s.turn, s.source_ref, s.source_key, m.inserted_at, 0
          from (
            select distinct m.turn, m.source_ref, m.source_key
            from masks m
            where m.source_ref is not null
          ) s
          cross join lateral (
            select m.id, m.bucket, m.inserted_at
            from memstore.memories m
            where case when m.superseded_at is null and m.bucket in ('user', 'learned') then array[m.user_id] end = array[actor]
            and m.source_ref = s.source_ref
            and m.language = languages[s.turn]
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
  memory memstore.memory
)$$;
  c_function constant text := $$
create or replace function memstore.%s
returns %s
language plpgsql
stable%s
security invoker
as %L
$$;
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

  -- What they return may have changed with the version, which REPLACE refuses.
  drop function if exists
    memstore.score_memories(uuid, text, real[], text, text[], bigint[], boolean),
    memstore.score_indexed_memories(uuid, text, text[], bigint[]);
  execute format(
    c_function,
    'score_memories('
      'actor uuid, query text, embedding real[], embedding_model text, languages text[], counts bigint[], everything boolean'
      ')',
    c_scores,
    -- So that the rows are read in the order of memories_live_idx, and not in any other way: a bitmap scan would go to
    -- rows that were superseded since the last vacuum again each time, and memories_user_id_idx has all that ever were.
    -- A sort that can't be avoided then looks costly enough to be compiled, before PostgreSQL 18.
    E'\nset enable_sort = off\nset jit = off',
    format(
      $$
declare
  v_settings memstore.settings;
  v_everything boolean := everything;
  v_hybrid boolean := embedding is not null;
  v_embedding real[] := embedding;
  v_width integer := cardinality(embedding);
  v_model text := memstore.trim_text(embedding_model);
  v_numbers double precision[];
  v_square double precision;
begin
  select s.*
  into v_settings
  from memstore.settings s;%s
  v_numbers := v_embedding;
  v_square := (select sum(e.x * e.x) from unnest(v_numbers) e (x));
  return query%send
$$,
      case
        when v_vector is not null
        then format(c_through_pgvector, v_vector, format(c_ranking, c_memories, v_pgvector, 'masks'))
      end,
      format(c_ranking, c_memories, v_plain, 'masks')
    )
  );
  execute format(
    c_function,
    'score_indexed_memories(actor uuid, query text, languages text[], counts bigint[])',
    c_scores,
    null,
    format(
      $$
declare
  v_settings memstore.settings;
  v_everything constant boolean := false;
  v_hybrid constant boolean := false;
begin
  select s.*
  into v_settings
  from memstore.settings s;
  return query%send
$$,
      format(c_ranking, c_indexed_memories, 'null::double precision', c_indexed_sources)
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
  comment on function memstore.score_memories(uuid, text, real[], text, text[], bigint[], boolean) is
    'The scores of the account''s memories; compiled for the pgvector that is installed, if one is.';
  comment on function memstore.score_indexed_memories(uuid, text, text[], bigint[]) is
    'The scores of the account''s memories that have a word of the query, from the operator''s indexes; compiled.';
  comment on function memstore.similarities(uuid[], real[], text) is
    'How near the embeddings of memories are to a query''s; compiled for the pgvector that is installed, if one is.';
end
$compile$;

comment on function memstore.compile_scores() is 'Writes the functions that score memories and claims.';
