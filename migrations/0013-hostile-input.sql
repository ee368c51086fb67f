-- What: a store can be closed to embedding models that the operator has not registered (settings.registered_models_only);
-- a restored account has the count of its rows, and beside it the count that it is entitled to (users.restored_memories);
-- trim_text() leaves a text alone that is too long for any rule, and lexemes() folds many distinct capitals in one pass.
-- Which lexemes a text has stays as it was.
-- Why: a count could be smuggled in by a session that looks like a restore's, a model's well-known name could be taken
-- with another length, and both functions cost most for texts that nobody writes, while the account is locked.
-- Locks: settings and users, against reads and writes, and only for the moment. Clients: earlier ones keep working.

alter table memstore.settings
  add column registered_models_only boolean default false,
  -- squawk-ignore constraint-missing-not-valid
  add constraint settings_registered_models_only_shape check (registered_models_only is not null);
comment on column memstore.settings.registered_models_only is
  'Whether an embedding needs a model that the operator has registered.';
comment on constraint settings_registered_models_only_shape on memstore.settings is
  'Only registered models are accepted, or all are.';

alter table memstore.users add column restored_memories integer;
comment on column memstore.users.restored_memories is
  'How many live memories a dump has of the account, where these exceed its ceiling; NULL once all are restored.';

create or replace function memstore.trim_text(content text)
returns text
language plpgsql
immutable strict parallel safe
as $$
begin
  -- Longer than any text that a rule admits, so that it is refused for its length: trimming 40 MB takes 10 s.
  if pg_catalog.octet_length(trim_text.content) operator(pg_catalog.>) 100000 then
    return trim_text.content;
  end if;
  return pg_catalog.btrim(
    trim_text.content,
    E'\u0009\u000a\u000b\u000c\u000d\u0020\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005'
    '\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000'
  );
end
$$;

-- The function's own text, with a bound on the passes over a text.
do $$
declare
  c_loop constant text := $l$      loop
        v_letter := substring(v_text from c_letter);
        exit when v_letter is null;
        v_text := replace(v_text, v_letter, substr(c_folded, strpos(c_letters, v_letter), 1));
      end loop;
$l$;
  c_bounded constant text := $l$      loop
        v_letter := substring(v_text from c_letter);
        exit when v_letter is null;
        v_passes := v_passes + 1;
        if v_passes <= 32 then
          v_text := replace(v_text, v_letter, substr(c_folded, strpos(c_letters, v_letter), 1));
        else
          v_text := (
            select string_agg(coalesce(l.folded, c.character), '' order by c.position)
            from string_to_table(v_text, null) with ordinality c (character, position)
            left join unnest(string_to_array(c_letters, null), string_to_array(c_folded, null)) l (letter, folded)
              on l.letter collate "C" = c.character collate "C"
          );
        end if;
      end loop;
$l$;
  v_before text := (select p.prosrc from pg_catalog.pg_proc p where p.oid = 'memstore.lexemes(text, text)'::regprocedure);
  v_after text := replace(
    replace(v_before, c_loop, c_bounded), E'      v_letter text;\n', E'      v_letter text;\n      v_passes integer := 0;\n'
  );
begin
  if strpos(v_after, c_bounded) = 0 or strpos(v_after, 'v_passes integer') = 0 then
    raise exception 'lexemes() is not as the earlier migrations left it';
  end if;
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
    v_after
  );
end
$$;

insert into memstore.deployment (name) values ('0013-hostile-input');
