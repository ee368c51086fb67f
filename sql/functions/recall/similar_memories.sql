create or replace function memstore.similar_memories(
  actor uuid,
  body text,
  embedding real[] default null,
  embedding_model text default null,
  scopes text[] default null,
  filter jsonb default null,
  maximum integer default 3
)
returns table (memory memstore.memory, score double precision, identical boolean)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
/*
similar_memories: what a new body may correct or repeat.

Example:
  select (memory).body, score, identical
  from memstore.similar_memories(memstore.find_user('account-1'), 'I use yarn, not npm.');
Result:
  I use pnpm, not npm.|0.293305|f

Asked before or after a memory is written; nothing is merged or refused for it. Where one is out of date,
supersede_memory corrects it, and supersede_with puts a memory in its place that is there already.

The candidates are those of rank_memories, and so is the score, without neighbours, label and source: the share of the
body's words that a memory has, and with an embedding 0.6 of that and 0.4 of the cosine similarity. Similar is what
scores at least 0.35 and has at least half of the words or a similarity of at least 0.4, since facts of one person share
words without being about one thing; where the embeddings don't compare, what has at least 0.25 of the words; and what
has the same body, whatever it scores.

Arguments
  actor            uuid     the account
  body             text     the body; of its words count those of its first 512 characters
  embedding        real[]   the body's embedding; one that no memory could have is as none
  embedding_model  text     its model
  scopes           text[]   as in list_memories: what is not within them counts as not there
  filter           jsonb    likewise
  maximum          integer  how many at most, 0 or more; 3 by default
Returns
  memory, score (0 to 1, 6 decimals) and identical (whether its body is the same), the identical first, then best first,
  then newest, then by id
Errors
  actor_unknown
  argument_invalid  scopes or filter has another form, or maximum is below 0
*/
declare
  v_scopes text[] := memstore.read_scopes(similar_memories.scopes);
  v_filters jsonb[] := memstore.read_filter(similar_memories.filter);
  v_body text := memstore.trim_text(similar_memories.body);
  v_hybrid boolean := memstore.embedding_is_usable(similar_memories.embedding, similar_memories.embedding_model);
  v_counts record;
  v_indexed boolean;
begin
  perform memstore.require_actor(similar_memories.actor);
  if similar_memories.maximum < 0 then
    perform memstore.refuse_argument('maximum', '0 or more');
  end if;
  v_counts := memstore.count_candidates(similar_memories.actor, v_scopes, v_filters);
  v_indexed := (
    not v_hybrid
    and memstore.words_are_rare(similar_memories.actor, v_body, v_counts.languages, v_counts.counts)
  ) is true;

  return query
  with scored as (
    select s.id, s.inserted_at, s.score, s.lexical_score, s.semantic_score
    from memstore.score_memories(
      actor,
      v_body,
      case when v_hybrid then similar_memories.embedding end,
      similar_memories.embedding_model,
      v_counts.languages,
      v_counts.counts,
      v_scopes,
      v_filters,
      false,
      true
    ) s
    where not v_indexed
    union all
    select s.id, s.inserted_at, s.score, s.lexical_score, s.semantic_score
    from memstore.score_indexed_memories(
      actor, v_body, v_counts.languages, v_counts.counts, v_scopes, v_filters, false, true
    ) s
    where v_indexed
  ),
  twins as (
    select m.id, m.inserted_at
    from memstore.memories m
    where m.user_id = similar_memories.actor
    and hashtextextended(m.body, 0) = hashtextextended(v_body, 0)
    and m.body = v_body
    -- IS TRUE keeps it from the index of live rows, which would read all that the account has.
    and (m.superseded_at is null) is true
    and m.bucket in ('user', 'learned')
    and memstore.is_within(m.scope, m.metadata, v_scopes, v_filters)
  ),
  found as (
    select
      coalesce(t.id, s.id) as id,
      coalesce(t.inserted_at, s.inserted_at) as inserted_at,
      coalesce(s.score, 0) as score,
      t.id is not null as identical
    from scored s
    full join twins t on t.id = s.id
    where t.id is not null
    or s.score >= 0.35 and (s.semantic_score >= 0.4 or s.lexical_score >= 0.5)
    or s.semantic_score is null and s.lexical_score >= 0.25
    order by identical desc, score desc, inserted_at desc, id
    limit coalesce(similar_memories.maximum, 3)
  )
  select r.memory, f.score, f.identical
  from found f
  -- OFFSET makes each row one look-up by its key.
  cross join lateral (
    select memstore.to_memory(m) as memory
    from memstore.memories m
    where m.id = f.id
    offset 0
  ) r
  order by f.identical desc, f.score desc, f.inserted_at desc, f.id;
end
$$;
