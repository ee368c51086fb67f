-- What: comments on the text search configurations of 0009.
-- Why: \dF+ memstore.* says nothing of what they are for.
-- Locks: the configurations alone, and only for the moment. Clients: earlier ones keep working.

do $$
declare
  v_language text;
begin
  foreach v_language in array memstore.languages() loop
    execute format(
      'comment on text search configuration memstore.%I is %L',
      v_language,
      format('The lexemes of ASCII texts in %s, as memstore.lexeme_set() returns them.', v_language)
    );
  end loop;
end
$$;

insert into memstore.deployment (name) values ('0011-text-search-comments');
