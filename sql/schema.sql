-- Creates the schema where there is none. PostgreSQL checks the right to create one before IF NOT EXISTS, and one that a
-- DBA made is there for a role without that right. Of installers that start at once, one waits for the other here.
do $$
begin
  if to_regnamespace('memstore') is null then
    create schema memstore;
  end if;
exception when unique_violation or duplicate_schema then
  null;
end
$$;

-- Refuses a dump's schema without its rows, which lacks the record of the migrations, the settings and the counter of
-- claims.
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
