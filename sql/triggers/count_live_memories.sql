-- Keeps users.live_memories and users.candidates and holds the ceiling, once a statement, so that a COPY or a batch
-- updates each account once for each of its languages. Updating the account's row serialises its concurrent writers. It
-- also refuses memories of an erased account. An account's first two memories of one body, by its hash, set
-- users.has_twins, which stays.
create or replace function memstore.count_live_memories()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_account uuid;
  v_language text;
  v_bucket text;
  v_twin boolean := false;
  v_change integer;
  v_several boolean;
  v_accounts uuid[];
  v_languages text[];
  v_live bigint[];
  v_memories bigint[];
  v_of_user bigint[];
  v_over boolean;
  v_is_over boolean;
  v_room text;
begin
  if tg_op = 'INSERT' then
    select
      n.user_id,
      n.language,
      n.bucket,
      1,
      exists (select from new_memories offset 1),
      n.bucket <> 'system' and exists (
        select
        from memstore.memories m
        where m.user_id = n.user_id
        and hashtextextended(m.body, 0) = hashtextextended(n.body, 0)
        and m.id <> n.id
        and (m.superseded_at is null) is true
        and m.bucket <> 'system'
      )
    into v_account, v_language, v_bucket, v_change, v_several, v_twin
    from new_memories n
    where n.superseded_at is null
    and not n.promoted;
  elsif tg_op = 'DELETE' then
    select o.user_id, o.language, o.bucket, -1, exists (select from old_memories offset 1)
    into v_account, v_language, v_bucket, v_change, v_several
    from old_memories o
    where o.superseded_at is null
    and not o.promoted;
  else
    select o.user_id, o.language, o.bucket, -1, exists (select from old_memories offset 1)
    into v_account, v_language, v_bucket, v_change, v_several
    from old_memories o
    join new_memories n on n.id = o.id
    where o.superseded_at is null
    and not o.promoted
    and n.superseded_at is not null;
  end if;
  if v_account is null then
    -- What isn't counted has an account all the same.
    if tg_op = 'INSERT' then
      perform memstore.refuse('actor_unknown', 'user_id')
      where memstore.has_erased(array(select distinct n.user_id from new_memories n));
    end if;
    return null;
  end if;

  -- One row is what most statements write.
  if not v_several then
    update memstore.users u
    set
      live_memories = u.live_memories + v_change,
      candidates = case v_bucket
        when 'system' then u.candidates
        else memstore.add_candidates(
          u.candidates, v_language, v_change, case v_bucket when 'user' then v_change else 0 end
        )
      end,
      has_twins = u.has_twins or v_twin
    where u.id = v_account
    returning u.live_memories > u.maximum_live_memories or u.erased_at is not null
    into v_over;
  else
    if tg_op = 'INSERT' then
      select array_agg(c.user_id), array_agg(c.language), array_agg(c.live), array_agg(c.memories), array_agg(c.of_user)
      into v_accounts, v_languages, v_live, v_memories, v_of_user
      from (
        select
          n.user_id,
          n.language,
          count(*) as live,
          count(*) filter (where n.bucket <> 'system') as memories,
          count(*) filter (where n.bucket = 'user') as of_user
        from new_memories n
        where n.superseded_at is null
        and not n.promoted
        group by n.user_id, n.language
      ) c;
    elsif tg_op = 'DELETE' then
      select array_agg(c.user_id), array_agg(c.language), array_agg(-c.live), array_agg(-c.memories), array_agg(-c.of_user)
      into v_accounts, v_languages, v_live, v_memories, v_of_user
      from (
        select
          o.user_id,
          o.language,
          count(*) as live,
          count(*) filter (where o.bucket <> 'system') as memories,
          count(*) filter (where o.bucket = 'user') as of_user
        from old_memories o
        where o.superseded_at is null
        and not o.promoted
        group by o.user_id, o.language
      ) c;
    else
      select array_agg(c.user_id), array_agg(c.language), array_agg(-c.live), array_agg(-c.memories), array_agg(-c.of_user)
      into v_accounts, v_languages, v_live, v_memories, v_of_user
      from (
        select
          o.user_id,
          o.language,
          count(*) as live,
          count(*) filter (where o.bucket <> 'system') as memories,
          count(*) filter (where o.bucket = 'user') as of_user
        from old_memories o
        join new_memories n on n.id = o.id
        where o.superseded_at is null
        and not o.promoted
        and n.superseded_at is not null
        group by o.user_id, o.language
      ) c;
    end if;
    if cardinality(v_accounts) > 1 then
      perform 1
      from memstore.users u
      where u.id = any (v_accounts)
      order by u.id
      for no key update;
    end if;

    for i in 1 .. cardinality(v_accounts) loop
      update memstore.users u
      set
        live_memories = u.live_memories + v_live[i],
        candidates = memstore.add_candidates(u.candidates, v_languages[i], v_memories[i], v_of_user[i])
      where u.id = v_accounts[i]
      returning u.live_memories > u.maximum_live_memories
      into v_is_over;
      if v_is_over then
        v_over := true;
      end if;
    end loop;
  end if;

  if tg_op <> 'INSERT' then
    return null;
  end if;
  if v_several or v_over then
    perform memstore.refuse('actor_unknown', 'user_id')
    where memstore.has_erased(array(select distinct n.user_id from new_memories n));
  end if;
  if v_several then
    update memstore.users u
    set has_twins = true
    where u.id = any (v_accounts)
    and u.has_twins is not true
    and exists (
      select
      from new_memories n
      cross join lateral (
        select
        from memstore.memories m
        where m.user_id = n.user_id
        and hashtextextended(m.body, 0) = hashtextextended(n.body, 0)
        and m.id <> n.id
        and (m.superseded_at is null) is true
        and m.bucket <> 'system'
        limit 1
      ) m
      where n.user_id = u.id
      and n.superseded_at is null
      and n.bucket <> 'system'
    );
  end if;
  if v_over is not true then
    return null;
  end if;

  -- At or above the ceiling an account may still correct: a row that one of its own rows points at replaces that one
  -- and adds nothing, unless this statement inserted both.
  select
    array_agg(o.id),
    string_agg(format('Only %s of %s fit', greatest(o.added - o.over, 0), o.added), ', ') filter (where o.added > 1)
  into v_accounts, v_room
  from (
    select u.id, u.live_memories - u.maximum_live_memories as over, sum(a.live) as added
    from unnest(coalesce(v_accounts, array[v_account]), coalesce(v_live, array[v_change::bigint])) a (id, live)
    join memstore.users u on u.id = a.id
    where u.live_memories > u.maximum_live_memories
    group by u.id
  ) o;
  if exists (
    select
    from new_memories n
    where n.user_id = any (v_accounts)
    and n.superseded_at is null
    and not n.promoted
    -- A look-up by the pointer, and no join: each write of an account at its ceiling comes here.
    and (
      select true
      from memstore.memories o
      where o.superseded_by_id = n.id
      and (o.user_id = n.user_id) is true
      and not o.promoted
      and not exists (select from new_memories d where d.id = o.id)
      limit 1
    ) is null
  ) then
    perform memstore.refuse('quota_reached', 'actor', v_room);
  end if;
  return null;
end
$$;

comment on function memstore.count_live_memories() is 'Trigger: keeps users.live_memories, and holds the ceiling.';

create or replace trigger memories_count_insert
after insert on memstore.memories
referencing new table as new_memories
for each statement
when (not memstore.is_restore())
execute function memstore.count_live_memories();

create or replace trigger memories_count_update
after update on memstore.memories
referencing old table as old_memories new table as new_memories
for each statement
execute function memstore.count_live_memories();

create or replace trigger memories_count_delete
after delete on memstore.memories
referencing old table as old_memories
for each statement
execute function memstore.count_live_memories();
