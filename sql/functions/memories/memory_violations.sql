create or replace function memstore.memory_violations(memory jsonb)
returns table (name text, field text, message text)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
memory_violations: lists every rule that a memory would break.

Example:
  select name, field from memstore.memory_violations('{"body": " ", "bucket": "user", "tier": "gold"}');
Result:
  memories_body_shape|body
  memories_tier_shape|tier

For forms and previews: it writes nothing and reads no account, so it says nothing of ceilings and ids.

Arguments
  memory  jsonb  an object as insert_memories takes them
Returns
  name, field and message of each broken rule, in the order of the fields; none for a valid memory
Errors
  argument_invalid  memory is not an object that insert_memories would take
*/
declare
  v_candidate memstore.memories;
begin
  select (r.candidate).*
  into v_candidate
  from memstore.read_memories(null, jsonb_build_array(memory)) r;
  -- What an insert takes from the acting account.
  v_candidate.user_id := gen_random_uuid();
  v_candidate.language := coalesce(v_candidate.language, 'english');

  return query
  select b.value ->> 'name', b.value ->> 'field', b.value ->> 'message'
  from jsonb_array_elements(memstore.memories_broken(v_candidate)) with ordinality b (value, position)
  order by b.position;
end
$$;
