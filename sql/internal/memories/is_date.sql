-- Whether a text is a date as ISO 8601 writes it, so that its cast cannot fail.
create or replace function memstore.is_date(content text)
returns boolean
language sql
immutable parallel safe
security invoker
as $$
  select case
    when content ~ '^(?!0000)[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$' then
      substr(content, 9)::integer
      <= extract(day from (substr(content, 1, 7) || '-01')::date + interval '1 month' - interval '1 day')
    else false
  end
$$;

comment on function memstore.is_date(text) is 'Whether a text is a date as ISO 8601 writes it.';
