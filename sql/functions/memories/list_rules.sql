create or replace function memstore.list_rules()
returns table (name text, field text, definition text, message text)
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
-- The text of a definition must not depend on the session's settings.
set quote_all_identifiers = off
set datestyle = 'ISO'
set timezone = 'UTC'
set jit = off
as $$
/*
list_rules: lists the rules of a memory, as the database holds them.

Example:
  select message from memstore.list_rules() where name = 'memories_source_ref_shape';
Result:
  The source has 1 to 200 characters, or is absent.

Returns
  of each rule its name, the field, its definition in SQL, and the message of a refusal, in the order of the fields
Errors
  none
*/
  select r.name, r.field, r.definition, r.message
  from memstore.rules r
  where r.table_name = 'memories'
  order by r.position
$$;
