-- What: the two rules of a language name the languages, instead of calling languages(); rows of up to 4 kB, as with an
-- embedding of 768 numbers, are kept whole.
-- Why: PostgreSQL plans the call anew for every statement that writes a row, for 20 to 60 microseconds each; and a row
-- whose embedding is kept apart costs an insert 0.3 ms more. Rows that are there stay as they are.
-- Locks: users and memories, against reads and writes, while each is read once to check the rule. Clients: earlier
-- ones keep working.

do $$
declare
  v_table text;
begin
  foreach v_table in array array['users', 'memories'] loop
    execute format(
      'alter table memstore.%1$I drop constraint %2$I, '
      'add constraint %2$I check (language is not null and language = any (%3$L::text[]))',
      v_table,
      v_table || '_language_shape',
      memstore.languages()
    );
    execute format(
      'comment on constraint %I on memstore.%I is %L',
      v_table || '_language_shape',
      v_table,
      'The language is one of PostgreSQL''s text search configurations.'
    );
  end loop;
end
$$;

alter table memstore.memories set (toast_tuple_target = 4096);

insert into memstore.deployment (name) values ('0007-cheaper-writes');
