-- How many live tokens of each kind an account may have.
create or replace function memstore.maximum_tokens()
returns integer
language sql
immutable parallel safe
security invoker
as 'select 100';

comment on function memstore.maximum_tokens() is 'How many live tokens of each kind an account may have.';
