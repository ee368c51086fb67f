-- Whether the stored lexemes are those of this server's dictionaries, as far as is known: by the checksum that was
-- recorded while nothing was stored, or when rebuild_words() had read everything.
create or replace function memstore.words_are_current()
returns boolean
language sql
stable
security invoker
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select
    from memstore.deployment d
    where d.name = 'words'
    and d.checksum = memstore.probe_words()
  )
$$;

comment on function memstore.words_are_current() is
  'Whether the stored lexemes are those of this server''s dictionaries, as far as is recorded.';
