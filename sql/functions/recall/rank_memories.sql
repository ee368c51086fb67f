create or replace function memstore.rank_memories(
  actor uuid,
  query text,
  embedding real[] default null,
  embedding_model text default null,
  scopes text[] default null,
  filter jsonb default null,
  maximum integer default null,
  include_superseded boolean default false
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
where both are of one model; a negative one counts 0. A learned memory is eligible with either above its floor. A user
memory always is, unless it has a semantic score below user_floor and no word of the turn. One with a semantic score has
to have at least score_share of the best score of an eligible memory, too, or more than 0.8 of the best semantic score
of one. Of several with one body the best alone is eligible.

The fused score f is 0.6 of the lexical and 0.4 of the semantic one where the turn has an embedding, else the lexical
one. Of a memory that the turn names, b = f * (1 + speaker_share), of another b = f; and

  score = (b + source_share * the largest b of its source_ref) / ((1 + speaker_share) * (1 + source_share))

Where the turn names months or years, and time_share is above 0, b of a memory that was written in one of them, in UTC, is
1 + time_share times as large, and every score is divided by 1 + time_share. Months count in English, years from 1900 to
2099 in figures; where both are named, both must fit. March, April, May, June and August, which are other words and names
too, count after a word such as in, since or last, or beside a number; 2024-06 names both.

A memory without source_ref is its own source. The turn names a memory whose body begins with a label, as in
"Anna Lee: I moved": at most three words and a colon, within 42 characters, the first word one of the turn, as it is
written, and no stop word of the memory's language.

Superseded memories, where asked for, are never eligible and change no score of the others: their n and df are counted
over them alone, and they have no neighbours and no source.

Arguments
  actor               uuid     the account
  query               text     the turn
  embedding           real[]   the turn's embedding; one that no memory could have is as none
  embedding_model     text     its model
  scopes              text[]   as in list_memories: what is not within them counts as not there
  filter              jsonb    likewise
  maximum             integer  how many at most, 0 or more; all where left out
  include_superseded  boolean  whether to rank superseded memories too; false by default
Returns
  memory, score, lexical_score, semantic_score (0 to 1, 6 decimals; semantic_score is NULL where the embeddings don't compare) and
  eligible, best first, then newest, then by id; none for a blank turn
Errors
  actor_unknown
  argument_invalid  scopes or filter has another form, or maximum is below 0
*/
declare
  v_scopes text[] := memstore.read_scopes(rank_memories.scopes);
  v_filters jsonb[] := memstore.read_filter(rank_memories.filter);
  v_counts record;
  v_languages text[];
  v_numbers bigint[];
  v_superseded integer;
begin
  perform memstore.require_actor(rank_memories.actor);
  if rank_memories.maximum < 0 then
    perform memstore.refuse_argument('maximum', '0 or more');
  end if;
  if coalesce(memstore.trim_text(rank_memories.query), '') = '' then
    return;
  end if;

  v_counts := memstore.count_candidates(rank_memories.actor, v_scopes, v_filters);
  v_languages := v_counts.languages;
  v_numbers := v_counts.counts;
  if rank_memories.include_superseded then
    v_superseded := coalesce(cardinality(v_languages), 0) + 1;
    select v_languages || array_agg(c.language), v_numbers || array_agg(c.memories)
    into v_languages, v_numbers
    from (
      select m.language, count(*) as memories
      from memstore.memories m
      where m.user_id = rank_memories.actor
      and m.superseded_at is not null
      and m.bucket in ('user', 'learned')
      and memstore.is_within(m.scope, m.metadata, v_scopes, v_filters)
      group by m.language
    ) c;
  end if;

  return query
  select
    s.memory,
    s.score,
    s.lexical_score,
    s.semantic_score,
    s.eligible and (
      not v_counts.has_twins
      or row_number() over (
        partition by s.eligible, (s.memory).body order by s.score desc, s.inserted_at desc, s.id
      ) = 1
    )
  from memstore.score_all_memories(
    actor,
    query,
    case
      when memstore.embedding_is_usable(rank_memories.embedding, rank_memories.embedding_model)
      then rank_memories.embedding
    end,
    rank_memories.embedding_model,
    v_languages,
    v_numbers,
    v_scopes,
    v_filters,
    v_superseded
  ) s
  order by s.score desc, s.inserted_at desc, s.id
  limit rank_memories.maximum;
end
$$;

comment on function memstore.rank_memories(uuid, text, real[], text, text[], jsonb, integer, boolean) is 'How well each memory of the account fits a turn.';
