-- Raises argument_invalid for an argument, and says what it may be: refuse_argument('page_size', '1 to 200'). Never
-- with the value, which may be text of a memory.
--   context: the part of the call, such as Item 3
create or replace function memstore.refuse_argument(argument text, requirement text, context text default null)
returns void
language sql
stable
security invoker
as $$
  select memstore.refuse(
    'argument_invalid',
    argument,
    context,
    format('`%s` must be %s.', argument, requirement)
  );
$$;

comment on function memstore.refuse_argument(text, text, text) is 'Raises argument_invalid, and says what an argument may be.';
