-- Raises one of memstore.refusals. It never sees a body, so neither does a log.
-- context: which part of the call it is about, such as "Item 3".
create or replace function memstore.refuse(name text, field text default null, context text default null)
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
    message = concat(refuse.context || ': ', v_refusal.message),
    hint = v_refusal.hint;
end
$$;

comment on function memstore.refuse(text, text, text) is 'Raises a refusal by its name.';
