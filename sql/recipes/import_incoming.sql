-- The common part of the recipes beside it, which include it with \ir: imports the rows of pg_temp.incoming, and
-- reports the outcome of each. A row is one memory: where it is from (origin), the external_ref of its account
-- (account), the object for import_memories (item), and, if it can't be imported, why (misfit). The variable source
-- names the table, and is what the source_ref of each item begins with.
--
-- Accounts that are missing are created, and a ceiling that is too low for the import is raised. A memory that breaks a
-- rule is left out and listed with the rule, without its text; if only its embedding or its metadata do, it is imported
-- without.
-- What an earlier run imported and the table no longer has stays, and is listed. Everything happens in the caller's
-- transaction.

alter table pg_temp.incoming
add column number bigint generated always as identity primary key,
add column outcome text not null default 'imported';

-- What was imported before keeps its source, which earlier versions of the recipes didn't note, and stays without
-- metadata where it has none, which they left out.
update pg_temp.incoming i
set
  outcome = 'already there',
  item = case when m.metadata is null then i.item - 'metadata' else i.item end
    || jsonb_build_object('source_ref', m.source_ref)
from memstore.memories m
where m.id = (i.item ->> 'id')::uuid;

do $$
declare
  v_account text;
  v_user uuid;
  v_before memstore.users;
  v_numbers bigint[];
  v_done integer;
  v_middle integer;
  v_batches int4range[];
  v_batch bigint[];
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

    v_numbers := array(
      select i.number
      from pg_temp.incoming i
      where i.account = v_account
      and i.misfit is null
      order by i.number
    );
    -- In batches, since a call for each row changes the account's row each time, and costs as the square of their
    -- number. A batch that is refused is halved, until the refusal is one row's.
    v_done := 0;
    while v_done < cardinality(v_numbers) loop
      v_batches := array[int4range(v_done + 1, least(v_done + 1000, cardinality(v_numbers)) + 1)];
      v_done := upper(v_batches[1]) - 1;
      while cardinality(v_batches) > 0 loop
        v_batch := v_numbers[lower(v_batches[1]):upper(v_batches[1]) - 1];
        v_middle := lower(v_batches[1]) + cardinality(v_batch) / 2;
        begin
          perform memstore.import_memories(v_user, jsonb_agg(i.item order by i.number))
          from pg_temp.incoming i
          where i.number = any (v_batch);
          v_batches := v_batches[2:];
        exception when others then
          get stacked diagnostics v_column = column_name, v_message = message_text;
          if cardinality(v_batch) > 1 then
            v_batches := array[int4range(lower(v_batches[1]), v_middle), int4range(v_middle, upper(v_batches[1]))]
              || v_batches[2:];
            continue;
          end if;
          v_batches := v_batches[2:];
          v_column := replace(v_column, 'embedding_model', 'embedding');
          update pg_temp.incoming i
          set
            outcome = case
              when i.outcome = 'imported' then 'imported without its ' || v_column
              when i.outcome like 'imported%' then 'imported without its embedding and its metadata'
              else i.outcome
            end,
            item = case v_column
              when 'embedding' then i.item - '{embedding,embedding_model}'::text[]
              else i.item - 'metadata'
            end
          where i.number = v_batch[1]
          and i.item ? v_column
          and v_column in ('embedding', 'metadata');
          if found then
            v_numbers := v_numbers || v_batch;
          else
            update pg_temp.incoming i
            set misfit = concat_ws(' ', nullif(v_column, '') || ':', regexp_replace(v_message, '^Item 1: ', ''))
            where i.number = v_batch[1];
          end if;
        end;
      end loop;
    end loop;

    perform memstore.set_maximum_live_memories(u.id, greatest(v_before.maximum_live_memories, u.live_memories))
    from memstore.users u
    where u.id = v_user;
  end loop;
end
$$;

\echo 'What became of the rows:'
select
  case when i.misfit is null then i.outcome else 'left out' end as outcome,
  count(*) as rows,
  count(distinct i.account) as accounts
from pg_temp.incoming i
group by 1
order by 1;

\echo 'What was left out, and why:'
select i.origin, i.account, i.misfit as why
from pg_temp.incoming i
where i.misfit is not null
order by 1;

\echo 'What was deleted at the source since, and is still here:'
select m.id, u.external_ref as account
from memstore.memories m
join memstore.users u on u.id = m.user_id
where (m.source_ref = :'source' or starts_with(m.source_ref, :'source' || ', '))
and m.superseded_at is null
and not exists (select from pg_temp.incoming i where (i.item ->> 'id')::uuid = m.id)
order by 2, 1;

\echo 'Accounts that hold more than new ones may:'
select i.account, u.live_memories, u.maximum_live_memories as ceiling
from (select distinct account from pg_temp.incoming) i
join memstore.users u on u.external_ref = i.account
where u.maximum_live_memories > (select s.maximum_live_memories from memstore.settings s)
order by 1;
