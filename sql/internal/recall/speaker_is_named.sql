-- Whether a query names the speaker of memories, that is the first word of their label: it has all that the text function
-- makes of that word, and the word is no stop word of the memories' language.
--   words: the query's lexemes in simple, so as they are written
create or replace function memstore.speaker_is_named(speaker text, language text, words text[])
returns boolean
language plpgsql
immutable parallel safe
security invoker
as $$
declare
  v_lexemes text[] := memstore.lexeme_set('simple', speaker);
begin
  return v_lexemes <> '{}' and v_lexemes <@ words and memstore.lexeme_set(language, speaker) <> '{}';
end
$$;

comment on function memstore.speaker_is_named(text, text, text[]) is 'Whether a query names the speaker of a memory.';
