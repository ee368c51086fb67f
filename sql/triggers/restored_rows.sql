-- A dump of data alone (pg_dump --data-only), restored into an installed store, brings what is there already, and what
-- follows from other rows. Whatever else is restored, as a plain INSERT of it, is refused or counted as ever. A
-- restore of a whole store has its triggers come after its rows, and meets none of this.

-- The settings are the restored ones.
create or replace function memstore.replace_settings()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from memstore.settings;
  return new;
end
$$;

comment on function memstore.replace_settings() is 'Trigger: has restored settings replace those that are there.';

create or replace trigger settings_restored
before insert on memstore.settings
for each row
when (memstore.is_restore())
execute function memstore.replace_settings();

-- The statuses, which challenges are open, and what system recall reads follow from the records, which are counted as
-- they arrive.
create or replace function memstore.skip_derived_row()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return null;
end
$$;

comment on function memstore.skip_derived_row() is 'Trigger: takes nothing from a restore that follows from the records.';

-- The counter's row has to be there before the first record.
create or replace function memstore.restart_claim_counter()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from memstore.claim_counter) then
    return null;
  end if;
  new.admitted := 0;
  return new;
end
$$;

comment on function memstore.restart_claim_counter() is 'Trigger: has a restored counter of claims start at none.';

create or replace trigger claim_counter_restored
before insert on memstore.claim_counter
for each row
when (memstore.is_restore())
execute function memstore.restart_claim_counter();

create or replace trigger claim_statuses_restored
before insert on memstore.claim_statuses
for each row
when (memstore.is_restore())
execute function memstore.skip_derived_row();

create or replace trigger admitted_claims_restored
before insert on memstore.admitted_claims
for each row
when (memstore.is_restore())
execute function memstore.skip_derived_row();

create or replace trigger claim_languages_restored
before insert on memstore.claim_languages
for each row
when (memstore.is_restore())
execute function memstore.skip_derived_row();

create or replace trigger claim_words_restored
before insert on memstore.claim_words
for each row
when (memstore.is_restore())
execute function memstore.skip_derived_row();

create or replace trigger open_challenges_restored
before insert on memstore.open_challenges
for each row
when (memstore.is_restore())
execute function memstore.skip_derived_row();

-- An earlier version's.
drop trigger if exists open_challenges_once on memstore.open_challenges;
drop function if exists memstore.skip_known_challenge();

-- What is installed stays as it is. A migration that isn't stays on record, so that the next migrate tells of it.
create or replace function memstore.skip_installed()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  -- Each table has a key of its own.
  v_new jsonb := to_jsonb(new);
begin
  case tg_table_name
    when 'deployment' then
      if exists (select from memstore.deployment d where d.name = v_new ->> 'name') then
        return null;
      end if;
    when '_yoyo_migration' then
      if exists (select from memstore._yoyo_migration m where m.migration_hash = v_new ->> 'migration_hash') then
        return null;
      end if;
    else
      if exists (select from memstore._yoyo_version v where v.version = (v_new ->> 'version')::integer) then
        return null;
      end if;
  end case;
  return new;
end
$$;

comment on function memstore.skip_installed() is 'Trigger: takes nothing from a restore that is installed already.';

create or replace trigger deployment_restored
before insert on memstore.deployment
for each row
when (memstore.is_restore())
execute function memstore.skip_installed();

-- A yoyo that was told another schema has its tables there.
do $$
begin
  if to_regclass('memstore._yoyo_migration') is not null then
    create or replace trigger yoyo_migration_restored
    before insert on memstore._yoyo_migration
    for each row
    when (memstore.is_restore())
    execute function memstore.skip_installed();

    create or replace trigger yoyo_version_restored
    before insert on memstore._yoyo_version
    for each row
    when (memstore.is_restore())
    execute function memstore.skip_installed();
  end if;
end
$$;

-- An account comes with its count of live memories, which may be above a ceiling that was lowered. Its memories add
-- nothing to that, unless they are more.
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

comment on function memstore.count_restored_memories() is 'Trigger: holds the count of live memories while accounts are restored with theirs.';

create or replace trigger memories_count_restored
after insert on memstore.memories
referencing new table as new_memories
for each statement
when (memstore.is_restore())
execute function memstore.count_restored_memories();
