create or replace function memstore.explain_recall(
  actor uuid,
  query text,
  embedding real[] default null,
  embedding_model text default null,
  maximum_attached integer default null,
  maximum_attached_characters integer default null,
  scopes text[] default null,
  filter jsonb default null,
  page_size integer default 50
)
returns table (
  memory memstore.memory,
  score double precision,
  lexical_score double precision,
  semantic_score double precision,
  outcome text
)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
explain_recall: why recall attaches each memory of the account to a turn, or leaves it out.

Example:
  select (memory).body, score, outcome
  from memstore.explain_recall(memstore.find_user('account-1'), 'npm or pnpm?');
Result:
  I use pnpm, not npm.|0.714286|attached

For people who wonder at a note. It asks recall and rank_memories, so it costs as much as both.

Outcomes
  attached   it is in the note
  count      better ones use up maximum_attached
  size       it is among the first maximum_attached, and longer than the characters that were left
  duplicate  a better one has the same body
  floor      a learned memory that is about something else: neither of its scores is above its floor
Arguments
  actor                        uuid     the account
  query                        text     as in recall, like all that follow
  embedding                    real[]   the turn's embedding
  embedding_model              text     its model
  maximum_attached             integer  memories at most
  maximum_attached_characters  integer  characters of bodies at most
  scopes                       text[]   only memories of these scopes, and those without one
  filter                       jsonb    only memories whose metadata contain it
  page_size                    integer  how many memories, 1 to 200; 50 where left out
Returns
  memories with their scores, as rank_memories has them, and the outcome; best first, none for a blank turn
Errors
  actor_unknown
  argument_invalid  an argument is out of bounds, or has another form
*/
declare
  v_maximum integer := coalesce(
    explain_recall.maximum_attached,
    (select s.maximum_attached from memstore.settings s)
  );
  v_attached uuid[];
begin
  if coalesce(explain_recall.page_size, 50) not between 1 and 200 then
    perform memstore.refuse_argument('page_size', '1 to 200');
  end if;
  select array(select (m.memory ->> 'id')::uuid from jsonb_array_elements(r.memories) m (memory))
  into v_attached
  from memstore.recall(
    explain_recall.actor,
    explain_recall.query,
    explain_recall.embedding,
    explain_recall.embedding_model,
    explain_recall.maximum_attached,
    explain_recall.maximum_attached_characters,
    explain_recall.scopes,
    explain_recall.filter
  ) r;

  return query
  with ranked as (
    select r.*, count(*) filter (where r.eligible) over (order by r.ordinality) as place
    from memstore.rank_memories(
      actor => explain_recall.actor,
      query => explain_recall.query,
      embedding => explain_recall.embedding,
      embedding_model => explain_recall.embedding_model,
      scopes => explain_recall.scopes,
      filter => explain_recall.filter
    ) with ordinality r
  )
  select
    r.memory,
    r.score,
    r.lexical_score,
    r.semantic_score,
    case
      when (r.memory).id = any (v_attached) then 'attached'
      when r.eligible and r.place <= v_maximum then 'size'
      when r.eligible then 'count'
      when exists (
        select
        from ranked o
        where o.eligible
        and (o.memory).body = (r.memory).body
      ) then 'duplicate'
      else 'floor'
    end
  from ranked r
  order by r.ordinality
  limit coalesce(explain_recall.page_size, 50);
end
$$;
