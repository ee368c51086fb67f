create or replace function memstore.read_json(content text)
returns jsonb
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
read_json: reads a JSON argument from a text, and refuses what is none without quoting it.

Example:
  select memstore.read_json('{"body": "Deploys happen on Tuesdays."}') ->> 'body' as body;
Result:
  Deploys happen on Tuesdays.

For drivers that send JSON as a text: insert_memories($1, memstore.read_json($2)). Where PostgreSQL itself can't parse a
parameter of the type jsonb, as with the escape \u0000 or half a surrogate pair, it quotes the text in its log.

Arguments
  content  text  JSON
Returns
  the same as jsonb
Errors
  argument_invalid  the text is no JSON that PostgreSQL can store
*/
begin
  begin
    return content::jsonb;
  exception
    when data_exception or program_limit_exceeded then
      null;
  end;
  perform memstore.refuse_argument('content', 'JSON that PostgreSQL can store');
  return null;
end
$$;
