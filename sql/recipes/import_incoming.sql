-- The common part of the recipes beside it, which include it with \ir: imports the rows of pg_temp.incoming, and
-- reports the outcome of each. A row is one memory: where it is from (origin), the external_ref of its account
-- (account), the object for import_memories (item), and, if it can't be imported, why (misfit).
--
-- Accounts that are missing are created, and a ceiling that is too low for the import is raised. A memory that breaks a
-- rule is left out and listed with the rule, without its text; if only its embedding does, it is imported without one.
-- Everything happens in the caller's transaction.

alter table pg_temp.incoming
add column number bigint generated always as identity primary key,
add column outcome text;

do $$
declare
  v_account text;
  v_user uuid;
  v_before memstore.users;
  v_row record;
  v_outcome text;
  v_column text;
  v_message text;
begin
  update pg_temp.incoming i
  set misfit = 'It belongs to no account.'
  where i.misfit is null
  and i.account is null;

  for v_account in
    select distinct i.account
    from pg_temp.incoming i
    where i.misfit is null
    order by 1
  loop
    begin
      v_user := memstore.create_user(external_ref => v_account);
    exception when others then
      get stacked diagnostics v_message = message_text;
      update pg_temp.incoming i
      set misfit = v_message
      where i.account = v_account
      and i.misfit is null;
      continue;
    end;

    select u.*
    into v_before
    from memstore.users u
    where u.id = v_user;
    perform memstore.set_maximum_live_memories(
      v_user,
      greatest(
        v_before.maximum_live_memories,
        v_before.live_memories + (select count(*)::integer from pg_temp.incoming i where i.account = v_account)
      )
    );

    -- A row at a time, so that a refusal is that row's alone.
    for v_row in
      select i.number, i.item
      from pg_temp.incoming i
      where i.account = v_account
      and i.misfit is null
    loop
      v_outcome := case
        when exists (select from memstore.memories m where m.id = (v_row.item ->> 'id')::uuid) then 'already there'
        else 'imported'
      end;
      begin
        perform memstore.import_memories(v_user, jsonb_build_array(v_row.item));
        v_message := null;
      exception when others then
        get stacked diagnostics v_column = column_name, v_message = message_text;
      end;
      if v_message is not null and v_column in ('embedding', 'embedding_model') then
        v_outcome := replace(v_outcome, 'imported', 'imported without its embedding');
        begin
          perform memstore.import_memories(
            v_user, jsonb_build_array(v_row.item - '{embedding,embedding_model}'::text[])
          );
          v_message := null;
        exception when others then
          get stacked diagnostics v_column = column_name, v_message = message_text;
        end;
      end if;

      update pg_temp.incoming i
      set
        outcome = case when v_message is null then v_outcome end,
        misfit = case
          when v_message is not null then
            concat_ws(' ', nullif(v_column, '') || ':', regexp_replace(v_message, '^Item 1: ', ''))
        end
      where i.number = v_row.number;
    end loop;

    perform memstore.set_maximum_live_memories(u.id, greatest(v_before.maximum_live_memories, u.live_memories))
    from memstore.users u
    where u.id = v_user;
  end loop;
end
$$;

\echo 'What became of the rows:'
select coalesce(i.outcome, 'left out') as outcome, count(*) as rows, count(distinct i.account) as accounts
from pg_temp.incoming i
group by 1
order by 1;

\echo 'What was left out, and why:'
select i.origin, i.account, i.misfit as why
from pg_temp.incoming i
where i.misfit is not null
order by 1;

\echo 'Accounts that hold more than new ones may:'
select i.account, u.live_memories, u.maximum_live_memories as ceiling
from (select distinct account from pg_temp.incoming) i
join memstore.users u on u.external_ref = i.account
where u.maximum_live_memories > (select s.maximum_live_memories from memstore.settings s)
order by 1;
