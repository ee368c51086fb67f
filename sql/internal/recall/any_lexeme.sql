-- What matches whatever has one of the lexemes; NULL where there are none. A lexeme has neither quotes nor backslashes:
-- the text function makes separators of them.
create or replace function memstore.any_lexeme(lexemes text[])
returns tsquery
language sql
immutable parallel safe
security invoker
as $$
  select case when lexemes <> '{}' then ('''' || array_to_string(lexemes, ''' | ''') || '''')::tsquery end
$$;

comment on function memstore.any_lexeme(text[]) is 'What matches whatever has one of the lexemes.';
