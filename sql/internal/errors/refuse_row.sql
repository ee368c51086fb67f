-- Raises the check violation that the table itself would raise, without PostgreSQL's DETAIL, which shows the row:
-- constraint, column and message are the first broken rule's, and the detail has all of them as a JSON array.
--   broken: what <table>_broken() returned
--   context: the part of the call, such as Item 3
create or replace function memstore.refuse_row(table_name text, broken jsonb, context text default null)
returns void
language plpgsql
stable
security invoker
as $$
begin
  raise exception using
    errcode = 'check_violation',
    schema = 'memstore',
    table = refuse_row.table_name,
    constraint = refuse_row.broken -> 0 ->> 'name',
    column = refuse_row.broken -> 0 ->> 'field',
    message = concat(refuse_row.context || ': ', refuse_row.broken -> 0 ->> 'message'),
    detail = refuse_row.broken::text,
    hint = 'The detail names every rule that the row breaks.';
end
$$;

comment on function memstore.refuse_row(text, jsonb, text) is
  'Raises the rules that a row breaks, as one check violation.';
