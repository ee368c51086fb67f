-- The lexemes of a query, of which its first 512 characters count and the first 64 in them; in no order. lexemes() puts
-- them in order, which takes five times as long, so only where there are more.
create or replace function memstore.query_lexemes(language text, query text)
returns text[]
language plpgsql
immutable parallel safe
security invoker
as $$
declare
  v_lexemes text[] := memstore.lexeme_set(language, left(query, 512));
begin
  return case when cardinality(v_lexemes) <= 64 then v_lexemes else (memstore.lexemes(language, left(query, 512)))[:64] end;
end
$$;

comment on function memstore.query_lexemes(text, text) is 'The lexemes of a query, at most 64.';
