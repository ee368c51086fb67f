create or replace function memstore.rank_memories(
  actor uuid,
  query text,
  embedding real[] default null,
  embedding_model text default null,
  scopes text[] default null,
  filter jsonb default null
)
returns table (
  memory memstore.memory,
  score double precision,
  lexical_score double precision,
  semantic_score double precision,
  eligible boolean
)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
/*
rank_memories: how well each memory of the account fits a turn.

Example:
  select (memory).body, score, eligible
  from memstore.rank_memories(memstore.find_user('account-1'), 'npm or pnpm?');
Result:
  I use pnpm, not npm.|0.714286|t

The candidates are the account's live memories of the buckets user and learned. The lexical score is the share of
the turn that a memory covers: each word of the turn weighs ln(1 + (n - df + 0.5) / (df + 0.5)), where n counts the
candidates of the memory's language and df those of them that have the word; the score is the weight of the words
that the memory has over the weight of all. Of the turn count its first 512 characters, and the first 64
different words in them. A word that a memory does not have itself counts by previous_share where the memory before
it in the same source_ref has it, by next_share where the one after it has, by the squares of these where the second
before or after has, and of several by the largest. The semantic score is the cosine similarity of the embeddings,
where both are of one model; a negative one counts 0. A user memory is always eligible, a learned one with either above
its floor; of several with one body the best alone.

The fused score f is 0.6 of the lexical and 0.4 of the semantic one where the turn has an embedding, else the lexical
one. Of a memory that the turn names, b = f * (1 + speaker_share), of another b = f; and

  score = (b + source_share * the largest b of its source_ref) / ((1 + speaker_share) * (1 + source_share))

Where the turn names months or years, and time_share is above 0, b of a memory that was written in one of them, in UTC, is
1 + time_share times as large, and every score is divided by 1 + time_share. A month is named by its English name, and
a year from 1900 to 2099 in figures; where both are, both must fit.

A memory without source_ref is its own source. The turn names a memory whose body begins with a label, as in
"Anna Lee: I moved": at most three words and a colon, within 42 characters, the first word one of the turn, as it is
written, and no stop word of the memory's language.

Arguments
  actor            uuid    the account
  query            text    the turn
  embedding        real[]  the turn's embedding; one that no memory could have is as none
  embedding_model  text    its model
  scopes           text[]  as in list_memories: what is not within them counts as not there
  filter           jsonb   likewise
Returns
  memory, score, lexical_score, semantic_score (0 to 1, 6 decimals; semantic_score is NULL where the embeddings don't compare) and
  eligible, best first, then newest, then by id; none for a blank turn
Errors
  actor_unknown
  argument_invalid  scopes or filter has another form
*/
declare
  v_scopes text[] := memstore.read_scopes(rank_memories.scopes);
  v_filters jsonb[] := memstore.read_filter(rank_memories.filter);
  v_counts record;
begin
  perform memstore.require_actor(rank_memories.actor);
  if coalesce(memstore.trim_text(rank_memories.query), '') = '' then
    return;
  end if;

  v_counts := memstore.count_candidates(rank_memories.actor, v_scopes, v_filters);
  return query
  select
    s.memory,
    s.score,
    s.lexical_score,
    s.semantic_score,
    s.eligible and (
      s.body is null
      or row_number() over (partition by s.eligible, s.body order by s.score desc, s.inserted_at desc, s.id) = 1
    )
  from memstore.score_memories(
    actor,
    query,
    case
      when memstore.embedding_is_usable(rank_memories.embedding, rank_memories.embedding_model)
      then rank_memories.embedding
    end,
    rank_memories.embedding_model,
    v_counts.languages,
    v_counts.counts,
    v_scopes,
    v_filters,
    v_counts.has_twins,
    true
  ) s
  order by s.score desc, s.inserted_at desc, s.id;
end
$$;

comment on function memstore.rank_memories(uuid, text, real[], text, text[], jsonb) is 'How well each memory of the account fits a turn.';
