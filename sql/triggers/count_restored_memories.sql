-- Counts an account's memories whole while a dump of rows is restored: where one statement restores a part of them,
-- another one brings the rest. The ceiling holds, but for an account that the dump has above a ceiling that was lowered:
-- it gets back what it had, and no more.
create or replace function memstore.count_restored_memories()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_over boolean;
begin
  perform 1
  from memstore.users u
  where u.id in (select n.user_id from new_memories n)
  order by u.id
  for no key update;

  perform memstore.refuse('actor_unknown', 'user_id')
  where memstore.has_erased(array(select distinct n.user_id from new_memories n));

  update memstore.users u
  set has_twins = true
  where u.id in (select n.user_id from new_memories n)
  and u.has_twins is not true
  and exists (
    select
    from memstore.memories m
    where m.user_id = u.id
    and m.superseded_at is null
    and m.bucket in ('user', 'learned')
    group by hashtextextended(m.body, 0)
    having count(*) > 1
  );

  with counted as (
    select
      l.user_id,
      sum(l.live)::integer as live,
      coalesce(
        jsonb_object_agg(l.language, jsonb_build_array(l.memories, l.of_user)) filter (where l.memories > 0), '{}'
      ) as candidates
    from (
      select
        m.user_id,
        m.language,
        count(*) as live,
        count(*) filter (where m.bucket <> 'system') as memories,
        count(*) filter (where m.bucket = 'user') as of_user
      from memstore.memories m
      where m.user_id in (select n.user_id from new_memories n)
      and m.superseded_at is null
      and not m.promoted
      group by m.user_id, m.language
    ) l
    group by l.user_id
  ),
  changed as (
    update memstore.users u
    set
      live_memories = c.live,
      candidates = c.candidates,
      restored_memories = case when c.live < u.restored_memories then u.restored_memories end
    from counted c
    where u.id = c.user_id
    and row(u.live_memories, u.candidates) <> row(c.live, c.candidates)
    returning u.id, u.live_memories, u.maximum_live_memories
  )
  -- What the account was entitled to is read in the snapshot of the statement, from before it.
  select bool_or(c.live_memories > greatest(c.maximum_live_memories, u.restored_memories, u.live_memories))
  into v_over
  from changed c
  join memstore.users u on u.id = c.id;
  if v_over then
    perform memstore.refuse('quota_reached', 'actor');
  end if;
  return null;
end
$$;

comment on function memstore.count_restored_memories() is
  'Trigger: holds the count of live memories during a restore of data.';

create or replace trigger memories_count_restored
after insert on memstore.memories
referencing new table as new_memories
for each statement
when (memstore.is_restore())
execute function memstore.count_restored_memories();
