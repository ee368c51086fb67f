select memstore.drop_code();
delete from memstore.deployment where name = '0013-hostile-input';

do $$
declare
  v_before text := (select p.prosrc from pg_catalog.pg_proc p where p.oid = 'memstore.lexemes(text, text)'::regprocedure);
begin
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
    replace(
      replace(
        v_before,
        $l$        v_passes := v_passes + 1;
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
$l$,
        $l$        v_text := replace(v_text, v_letter, substr(c_folded, strpos(c_letters, v_letter), 1));
$l$
      ),
      E'      v_passes integer := 0;\n',
      ''
    )
  );
end
$$;

create or replace function memstore.trim_text(content text)
returns text
language plpgsql
immutable strict parallel safe
as $$
begin
  return pg_catalog.btrim(
    trim_text.content,
    E'\u0009\u000a\u000b\u000c\u000d\u0020\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005'
    '\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000'
  );
end
$$;

alter table memstore.users drop column restored_memories;
alter table memstore.settings drop column registered_models_only;
