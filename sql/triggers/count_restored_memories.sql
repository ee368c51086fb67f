-- A restored account already has the count of its live memories, which may exceed a ceiling that was lowered. Its
-- restored memories raise the count only where there are more of them, and only then is the ceiling checked.
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

  -- What recall can attach is counted whole: where one statement restores a part of them, another one brings the rest.
  update memstore.users u
  set candidates = c.candidates
  from (
    select l.user_id, jsonb_object_agg(l.language, jsonb_build_array(l.memories, l.of_user)) as candidates
    from (
      select m.user_id, m.language, count(*) as memories, count(*) filter (where m.bucket = 'user') as of_user
      from memstore.memories m
      where m.user_id in (select n.user_id from new_memories n)
      and m.superseded_at is null
      and m.bucket in ('user', 'learned')
      group by m.user_id, m.language
    ) l
    group by l.user_id
  ) c
  where u.id = c.user_id
  and u.candidates <> c.candidates;

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
    select m.user_id, count(*) as number
    from memstore.memories m
    where m.user_id in (select n.user_id from new_memories n)
    and m.superseded_at is null
    and not m.promoted
    group by m.user_id
  ),
  raised as (
    update memstore.users u
    set live_memories = c.number
    from counted c
    where u.id = c.user_id
    and u.live_memories < c.number
    returning u.live_memories > u.maximum_live_memories as over
  )
  select bool_or(r.over)
  into v_over
  from raised r;
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
