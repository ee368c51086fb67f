create or replace function memstore.schema_version()
returns integer
language sql
immutable parallel safe
security invoker
as $$
/*
schema_version: the number of the newest migration that these functions were written for.

Example:
  select memstore.schema_version() >= 8;
Result:
  t

A client that needs a newer one says so.

Returns
  the number
Errors
  none
*/
  select 8
$$;
