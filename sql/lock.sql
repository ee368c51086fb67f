-- Before anything else: refuses a schema of another role, and keeps yoyo out, whose lock is a row of yoyo_lock. The row
-- that is inserted here stays uncommitted, so that a yoyo that starts now blocks on it until this transaction, which
-- deletes it, ends.
do $$
begin
  if (select n.nspowner from pg_namespace n where n.nspname = 'memstore') <> current_user::regrole then
    raise exception using
      errcode = 'MS023',
      schema = 'memstore',
      constraint = 'owner_differs',
      message = 'The schema memstore belongs to another role.',
      hint = 'Connect as its owner, or set role to it: what two roles own runs with the rights of both.';
  end if;
end
$$;

-- Of installers that start at once in a schema that is empty, one waits for the other here.
do $$
begin
  create table if not exists memstore.yoyo_lock (
    locked int default 1,
    ctime timestamp,
    pid int not null,
    primary key (locked)
  );
exception when unique_violation or duplicate_table or duplicate_object then
  null;
end
$$;

-- Waits for a running yoyo, longer than its migrations should take. yoyo writes its pid; 0 is an installer's.
do $$
declare
  v_deadline timestamptz := clock_timestamp() + interval '30 seconds';
begin
  loop
    insert into memstore.yoyo_lock (locked, ctime, pid)
    values (1, clock_timestamp() at time zone 'UTC', 0)
    on conflict (locked) do nothing;
    exit when found;
    -- Not ON CONFLICT DO UPDATE, which would lock yoyo's row, so that yoyo couldn't delete it.
    update memstore.yoyo_lock set ctime = clock_timestamp() at time zone 'UTC' where pid = 0;
    exit when found;
    if clock_timestamp() > v_deadline then
      raise exception using
        errcode = 'MS022',
        schema = 'memstore',
        constraint = 'yoyo_locked',
        message = 'A yoyo process has locked the migrations.',
        hint = 'Wait for it; if none runs, remove the lock with: yoyo break-lock.';
    end if;
    perform pg_sleep(0.1);
  end loop;
end
$$;
