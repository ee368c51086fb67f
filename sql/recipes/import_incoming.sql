-- The common part of the recipes beside it, which include it with \ir: imports the rows of pg_temp.incoming, and
-- reports the outcome of each. A row is one memory or item: where it is from (origin), the external_ref of its account
-- (account), the object for the function (item), if it can't be imported, why (misfit), its number, and what is to be
-- told of it once it is imported (outcome); one without an outcome is not written. The variable function is
-- import_memories or import_items.
--
-- Accounts that are missing are created, and a maximum that is too low for the import is raised. What breaks a rule is
-- left out and listed with the rule, without its text; if only its embeddings or its metadata do, it is imported
-- without. Everything happens in the caller's transaction.

select set_config('memstore_recipe.function', :'function', true) \g /dev/null

do $$
declare
  c_function constant text := current_setting('memstore_recipe.function');
  v_account text;
  v_user uuid;
  v_numbers bigint[];
  v_done integer;
  v_middle integer;
  v_batches int4range[];
  v_batch bigint[];
  v_column text;
  v_keys text[];
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

    v_numbers := array(
      select i.number
      from pg_temp.incoming i
      where i.account = v_account
      and i.misfit is null
      and i.outcome is not null
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
          execute format('select count(*) from memstore.%I($1, $2, true)', c_function)
          using v_user, (select jsonb_agg(i.item order by i.number) from pg_temp.incoming i where i.number = any (v_batch));
          v_batches := v_batches[2:];
        exception when others then
          get stacked diagnostics v_column = column_name, v_message = message_text;
          if cardinality(v_batch) > 1 then
            v_batches := array[int4range(lower(v_batches[1]), v_middle), int4range(v_middle, upper(v_batches[1]))]
              || v_batches[2:];
            continue;
          end if;
          v_batches := v_batches[2:];
          v_keys := case
            when v_column = 'metadata' then '{metadata}'
            when v_column in ('embedding', 'embedding_model', 'embeddings', 'field') then
              '{embedding,embedding_model,embeddings}'
          end;
          update pg_temp.incoming i
          set
            outcome = case
              when i.outcome like '% without %' then 'imported without its embedding and its metadata'
              when i.outcome <> 'already there' then
                i.outcome || ' without its ' || regexp_replace(v_column, '^(embedding_model|field)$', 'embedding')
              else i.outcome
            end,
            item = i.item - v_keys
          where i.number = v_batch[1]
          and i.item ?| v_keys;
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
  end loop;
end
$$;

\echo 'What became of the rows:'
select
  case when i.misfit is null then coalesce(i.outcome, 'already there') else 'left out' end as outcome,
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
