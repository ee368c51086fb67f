select memstore.drop_code();
delete from memstore.deployment where name = '0009-kept-counts';

alter table memstore.users drop column candidates;

do $$
declare
  v_table text;
  v_rules text;
  v_comments text;
begin
  foreach v_table in array array['users', 'memories'] loop
    select
      string_agg(format('drop constraint %1$I, add constraint %1$I check (%2$s)', r.name, r.definition), ', ' order by r.name),
      string_agg(
        format('comment on constraint %I on memstore.%I is %L', r.name, v_table, obj_description(c.oid, 'pg_constraint')),
        '; '
      )
    into v_rules, v_comments
    from (
      values
        ('users_language_shape', format('language is not null and language = any (%L::text[])', memstore.languages())),
        ('users_external_ref_shape', 'pg_catalog.char_length(external_ref) between 1 and 200'),
        ('memories_bucket_shape', $r$bucket is not null and bucket in ('user', 'learned', 'system')$r$),
        (
          'memories_body_shape',
          $r$
            body is not null
            and pg_catalog.char_length(body) <= 2000
            and memstore.trim_text(body) <> ''
            and (stance is null or pg_catalog.strpos(body, stance) > 0)
          $r$
        ),
        (
          'memories_source_ref_shape',
          'source_ref is null or pg_catalog.char_length(source_ref) between 1 and 200'
        ),
        ('memories_language_shape', format('language is not null and language = any (%L::text[])', memstore.languages())),
        (
          'memories_embedding_shape',
          $r$
            embedding_model is null and embedding is null
            or embedding is not null
            and pg_catalog.array_ndims(embedding) = 1
            and pg_catalog.cardinality(embedding) between 1 and 16000
            and pg_catalog.array_position(embedding, null) is null
            and 1e6::real >= all (embedding)
            and (-1e6)::real <= all (embedding)
            and (1e-6::real <= any (embedding) or (-1e-6)::real >= any (embedding))
          $r$
        ),
        (
          'memories_embedding_model_shape',
          $r$
            embedding_model is null and embedding is null
            or embedding_model is not null and pg_catalog.char_length(embedding_model) between 1 and 200
          $r$
        ),
        (
          'memories_slug_shape',
          $r$
            case bucket
              when 'system' then
                slug is not null
                and pg_catalog.char_length(slug) <= 200
                and pg_catalog.starts_with(slug, 'sys:')
                and memstore.trim_text(pg_catalog.substr(slug, 5)) <> ''
              else slug is null
            end
          $r$
        ),
        (
          'memories_entity_shape',
          $r$
            case bucket
              when 'system' then entity is null or pg_catalog.char_length(entity) between 1 and 200
              else entity is null
            end
          $r$
        ),
        (
          'memories_tier_shape',
          $r$
            case bucket
              when 'system' then tier is not null and tier in ('ledger', 'glass')
              else tier is null
            end
          $r$
        ),
        (
          'memories_admission_shape',
          $r$
            case bucket
              when 'system' then admission is not null and admission in ('candidate', 'admitted', 'rejected')
              else admission is null
            end
          $r$
        ),
        (
          'memories_stance_shape',
          $r$
            case bucket
              when 'system' then
                stance is null
                or pg_catalog.char_length(stance) between 1 and 200
                and stance operator(pg_catalog.~) '^[a-z0-9]+(-[a-z0-9]+)*$'
              else stance is null
            end
          $r$
        )
    ) r (name, definition)
    join pg_catalog.pg_constraint c on c.conname = r.name
    where c.conrelid = format('memstore.%I', v_table)::regclass;
    execute format('alter table memstore.%I %s', v_table, v_rules);
    execute v_comments;
  end loop;
end
$$;

do $$
declare
  v_lexemes text := (
    select p.prosrc
    from pg_catalog.pg_proc p
    where p.oid = 'memstore.lexemes(text, text)'::regprocedure
  );
  v_language text;
begin
  drop function memstore.lexemes(text, text);
  alter function memstore.lexeme_set(text, text) rename to lexemes;
  execute format(
    $f$
create or replace function memstore.lexemes(language text, content text)
returns text[]
language plpgsql
immutable strict parallel safe
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as %L
$f$,
    v_lexemes
  );
  foreach v_language in array memstore.languages() loop
    execute format('drop text search configuration memstore.%I', v_language);
  end loop;
end
$$;

comment on function memstore.lexemes(text, text) is 'The distinct lexemes of a text, folded and stemmed for a language, in the order of their first occurrence.';

create or replace function memstore.trim_text(content text)
returns text
language plpgsql
immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return btrim(
    trim_text.content,
    E'\u0009\u000a\u000b\u000c\u000d\u0020\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005'
    '\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000'
  );
end
$$;

drop function
  memstore.is_language(text),
  memstore.is_short(text),
  memstore.body_is_valid(text, text),
  memstore.embedding_is_valid(real[]),
  memstore.slug_is_valid(text),
  memstore.stance_is_valid(text);

create or replace function memstore.drop_code()
returns void
language plpgsql
volatile
security invoker
set search_path = pg_catalog, pg_temp
as $$
declare
  v_statement text;
begin
  for v_statement in
    select format('drop trigger %I on %s', t.tgname, t.tgrelid::regclass)
    from pg_trigger t
    join pg_class c on c.oid = t.tgrelid
    where c.relnamespace = 'memstore'::regnamespace
    and not t.tgisinternal
  loop
    execute v_statement;
  end loop;
  for v_statement in
    select format('drop view %s', string_agg(c.oid::regclass::text, ', '))
    from pg_class c
    where c.relnamespace = 'memstore'::regnamespace
    and c.relkind = 'v'
    having count(*) > 0
  loop
    execute v_statement;
  end loop;
  -- A function that a constraint or a generated column uses came with a migration, and stays.
  for v_statement in
    select format('drop routine %s', string_agg(p.oid::regprocedure::text, ', '))
    from pg_proc p
    where p.pronamespace = 'memstore'::regnamespace
    and p.proname not in ('drop_code', 'languages', 'trim_text', 'lexemes', 'evidence_is_valid')
    having count(*) > 0
  loop
    execute v_statement;
  end loop;
  delete from memstore.deployment where name = 'sql';
end
$$;
