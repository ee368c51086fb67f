-- Locks the tables that triggers are created on, before the code layer makes anything. A transaction of an application
-- may hold one of them and wait for another, in any order. So each attempt waits for less time than PostgreSQL lets
-- pass before it looks for deadlocks, and then lets go of everything; since an attempt is more patient than the one
-- before it, one succeeds once the transactions that are open have ended. lock_timeout, where it is set, bounds all of
-- them together.
do $$
declare
  v_tables constant text := (
    select string_agg(c.oid::regclass::text, ', ' order by c.relname)
    from pg_class c
    where c.relnamespace = 'memstore'::regnamespace
    and c.relkind = 'r'
    and c.relname !~ '^_?yoyo_'
  );
  v_limit constant integer := (select s.setting from pg_settings s where s.name = 'lock_timeout');
  v_start constant timestamptz := clock_timestamp();
  v_patience integer := 50;
begin
  loop
    begin
      perform set_config('lock_timeout', least(v_patience, nullif(v_limit, 0))::text, true);
      execute format('lock table %s in share row exclusive mode', v_tables);
      perform set_config('lock_timeout', v_limit::text, true);
      return;
    exception when lock_not_available or deadlock_detected then
      if v_limit > 0 and clock_timestamp() > v_start + v_limit * interval '1 ms' then
        raise;
      end if;
    end;
    perform pg_sleep(0.1 * random());
    v_patience := v_patience * 2;
  end loop;
end
$$;
