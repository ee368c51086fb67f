-- Bounds the wait for each lock on a table that is in use, behind which later statements on the table queue, unless a
-- role, a database or the session has set a limit, also none. It comes after lock.sql, whose waits are for other
-- installers.
do $$
begin
  if (select s.source from pg_settings s where s.name = 'lock_timeout') = 'default' then
    perform set_config('lock_timeout', '5s', true);
  end if;
end
$$;
