-- A checksum of what this server's dictionaries make of some words, in each language: where it differs from the recorded
-- one, lexemes that are stored may differ from those of a query. Stemmers change with PostgreSQL's major version.
create or replace function memstore.probe_words()
returns text
language sql
stable
security invoker
set search_path = pg_catalog, pg_temp
as $$
  select encode(sha256(convert_to(string_agg(array_to_string(w.lexemes, ' '), ',' order by w.language), 'UTF8')), 'hex')
  from (
    select
      l.language collate "C" as language,
      memstore.lexemes(
        l.language,
        'the added adding ideas running happily databases relational organization skies dying news generously die und '
        'geheim erinnerungen häusern ästhetischen möglichkeiten system laufend de het gebeden lopende mogelijkheden '
        'kinderen boeken den og børnene løbende springande flickorna arbetade talossa juoksevat kirjojen évidemment '
        'élèves mangeaient naturellement divani correndo velocemente cittadini dámelo corriendo rápidamente libros '
        'casas livros cantávamos felizmente mergeau cărților házakban könyveket futottak evlerinde koşuyorum kitaplar '
        'berlarian makanan buku namų vaikams knygos leabhair na bhfear gloria etxeetan liburuak llibres caminaven '
        'бегущие книгами хорошая књиге трчање βιβλία τρέχοντας գրքերը վազում الكتاب يكتبون मकानों किताबें पुस्तकहरू '
        'புத்தகங்கள் ביכער 𞀰'
      ) as lexemes
    from unnest(memstore.languages()) l (language)
  ) w
$$;

comment on function memstore.probe_words() is 'A checksum of what this server''s dictionaries make of some words.';
