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
