create or replace function memstore.schema_version()
returns integer
language sql
immutable parallel safe
security invoker
as $$
/*
schema_version: returns the number of the newest migration that these functions were written for.

Example:
  select memstore.schema_version() >= 24;
Result:
  t

A client compares it with the number that it needs.

Returns
  the number
Errors
  none
*/
  select 24
$$;
