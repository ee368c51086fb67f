-- What matches whatever has all of the lexemes, as any_lexeme() does for one of them; NULL where there are none.
create or replace function memstore.every_lexeme(lexemes text[])
returns tsquery
language sql
immutable parallel safe
security invoker
as $$
  select case when lexemes <> '{}' then ('''' || array_to_string(lexemes, ''' & ''') || '''')::tsquery end
$$;

comment on function memstore.every_lexeme(text[]) is 'What matches whatever has all of the lexemes.';
