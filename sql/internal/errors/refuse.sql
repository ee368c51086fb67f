-- Raises one of memstore.refusals; it never returns. Nothing that is passed may be text of a memory: it reaches the
-- client and the server's log.
--   field: the argument or column that is refused
--   context: the part of the call, such as Item 3
--   message, hint: instead of the refusal's own, where the call can be told more
create or replace function memstore.refuse(
  name text,
  field text default null,
  context text default null,
  message text default null,
  hint text default null
)
returns void
language plpgsql
stable
security invoker
as $$
declare
  v_refusal memstore.refusals;
begin
  select r.*
  into strict v_refusal
  from memstore.refusals r
  where r.name = refuse.name;

  raise exception using
    errcode = v_refusal.sqlstate,
    schema = 'memstore',
    constraint = v_refusal.name,
    column = coalesce(refuse.field, ''),
    message = concat(refuse.context || ': ', coalesce(refuse.message, v_refusal.message)),
    hint = coalesce(refuse.hint, v_refusal.hint);
end
$$;

comment on function memstore.refuse(text, text, text, text, text) is 'Raises a refusal by its name.';
