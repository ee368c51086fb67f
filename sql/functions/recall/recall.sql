create or replace function memstore.recall(
  actor uuid,
  query text,
  embedding real[] default null,
  embedding_model text default null,
  maximum_attached integer default null,
  maximum_attached_characters integer default null,
  scopes text[] default null,
  filter jsonb default null,
  out memories jsonb,
  out dropped integer,
  out unembedded integer,
  out backend text,
  out note text
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
recall: what one turn is told.

Example:
  select dropped, backend, note
  from memstore.recall(memstore.find_user('account-1'), 'Install the deps with npm.');
Result:
  0|lexical|[From memory: user, just now] I use pnpm, not npm.

Attaches the best of the account's eligible memories (rank_memories): first as many as maximum_attached, then,
walking down them, those whose bodies fit into maximum_attached_characters; what does not fit is passed over, and
none is cut. What is left out is counted. A blank turn recalls nothing.

Where the operator has turned system recall on, claims follow (rank_claims): one of an account and two in all, or as
many as maximum_attached if that is less, within the characters that the account's own memories left. What that
leaves out is not counted: it would tell how large the shared store is.

Arguments
  actor                        uuid     the account
  query                        text     the turn; its first 512 characters count
  embedding                    real[]   the turn's embedding; one that no memory could have is as none
  embedding_model              text     its model
  maximum_attached             integer  memories at most, 0 or more; the setting where left out
  maximum_attached_characters  integer  characters of bodies at most, 0 or more; the setting where left out
  scopes                       text[]   as in list_memories: what is not within them counts as not there; not for claims
  filter                       jsonb    likewise
Returns
  one row: memories (an array of what was attached, best first; claims have a status), dropped (eligible but not
  attached), unembedded (where the turn has an embedding: candidates without one of its model, compared by words
  alone), backend (none, lexical, hybrid), and the note to put before the turn, NULL where there is nothing to say
Errors
  actor_unknown
  argument_invalid  a bound is below 0, or scopes or filter has another form
*/
declare
  v_bounds memstore.settings;
  v_best record;
  v_memory memstore.memory;
  v_attached memstore.memory[] := '{}'::memstore.memory[];
  v_left integer;
  v_lines text[];
  v_authors uuid[] := '{}'::uuid[];
begin
  perform memstore.require_actor(actor);
  select s.*
  into v_bounds
  from memstore.settings s;
  v_bounds.maximum_attached := coalesce(maximum_attached, v_bounds.maximum_attached);
  v_bounds.maximum_attached_characters := coalesce(maximum_attached_characters, v_bounds.maximum_attached_characters);
  if v_bounds.maximum_attached < 0 then
    perform memstore.refuse_argument('maximum_attached', '0 or more');
  end if;
  if v_bounds.maximum_attached_characters < 0 then
    perform memstore.refuse_argument('maximum_attached_characters', '0 or more');
  end if;

  v_best := memstore.best_memories(
    actor,
    query,
    embedding,
    embedding_model,
    v_bounds.maximum_attached,
    memstore.read_scopes(scopes),
    memstore.read_filter(filter)
  );
  backend := v_best.backend;
  unembedded := v_best.unembedded;

  v_left := v_bounds.maximum_attached_characters;
  foreach v_memory in array array(
    select r.memory
    from unnest(v_best.ids) with ordinality b (id, position)
    -- OFFSET makes each row one look-up by its key.
    cross join lateral (
      select memstore.to_memory(m) as memory
      from memstore.memories m
      where m.id = b.id
      offset 0
    ) r
    order by b.position
  ) loop
    continue when char_length(v_memory.body) > v_left;
    v_left := v_left - char_length(v_memory.body);
    v_attached := v_attached || v_memory;
  end loop;
  memories := to_json(v_attached)::jsonb;
  v_lines := array(
    select memstore.note_line(a.bucket || ', ' || memstore.age_text(a.inserted_at), a.body)
    from unnest(v_attached) a
  );
  dropped := v_best.eligible - cardinality(v_attached);

  if v_bounds.system_recall_enabled then
    for v_memory in
      select (c.memory).*
      from memstore.rank_claims(actor, query, embedding, embedding_model) with ordinality c
      order by c.ordinality
    loop
      exit when cardinality(v_authors) >= least(2, v_bounds.maximum_attached);
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
      v_bounds.maximum_attached,
      v_bounds.maximum_attached_characters
    );
  end if;
  note := nullif(array_to_string(v_lines, E'\n'), '');
end
$$;

comment on function memstore.recall(uuid, text, real[], text, integer, integer, text[], jsonb) is 'What one turn is told: the memories to attach, how many were left out, and the note.';
