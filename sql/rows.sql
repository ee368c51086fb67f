-- Refuses a dump's schema without its rows, which lacks the record of the migrations, the settings and the counter of
-- claims. It comes after lock.sql: a migration waits for whoever has read the record and waits for the lock.
do $$
begin
  if to_regclass('memstore.deployment') is not null then
    if not exists (select from memstore.deployment) then
      raise exception using
        errcode = 'MS024',
        schema = 'memstore',
        constraint = 'rows_absent',
        message = 'The schema is there without its rows.',
        hint = 'Restore the rows of the dump, too (pg_restore --data-only); or drop the schema, and install again.';
    end if;
  end if;
end
$$;
