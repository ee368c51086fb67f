-- Before anything else: the schema is the installer's own, and no yoyo process is at work. The row, which nobody
-- else sees until the transaction ends, holds a yoyo that starts now until then; and it goes with the transaction.
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

create table if not exists memstore.yoyo_lock (
  locked int default 1,
  ctime timestamp,
  pid int not null,
  primary key (locked)
);

-- As long as yoyo itself would wait. Only a yoyo process writes another pid than 0.
do $$
declare
  v_deadline timestamptz := clock_timestamp() + interval '10 seconds';
begin
  loop
    insert into memstore.yoyo_lock (locked, ctime, pid)
    values (1, clock_timestamp() at time zone 'UTC', 0)
    on conflict (locked) do nothing;
    exit when found;
    -- Not ON CONFLICT DO UPDATE: that locks the row of a yoyo, which could then not remove it.
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
