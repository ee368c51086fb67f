-- How many open challenges an account may have.
create or replace function memstore.maximum_open_challenges()
returns integer
language sql
immutable parallel safe
security invoker
as 'select 200';

comment on function memstore.maximum_open_challenges() is 'How many open challenges an account may have.';
