create or replace function memstore.list_item_namespaces(
  actor uuid,
  conditions jsonb default null,
  maximum_depth integer default null,
  page_size integer default 100,
  skip integer default 0
)
returns setof text[]
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
-- So that the account's index is read in one way, whatever the statistics say.
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
/*
list_item_namespaces: lists the namespaces that have items, in order.

Example:
  select memstore.list_item_namespaces(
    memstore.find_user('account-1'),
    '[{"match": "prefix", "path": ["files"]}]'
  );
Result:
  {files,notes}

Arguments
  actor          uuid     the account
  conditions     jsonb    an array of objects with match (prefix or suffix) and path, the labels with which a namespace
                          must begin or end, where * is any label; it must meet all
  maximum_depth  integer  how many labels of each namespace, 1 or more: those that are then equal are listed once; all if
                          NULL
  page_size      integer  how many namespaces, 1 to 10,000; 100 by default
  skip           integer  how many of the first to leave out, 0 or more
Returns
  the namespaces, in the order of their labels
Errors
  actor_unknown
  argument_invalid  conditions, maximum_depth, page_size or skip is not of this form
*/
begin
  perform memstore.require_actor(list_item_namespaces.actor);
  if list_item_namespaces.conditions is not null then
    perform memstore.check_objects('conditions', conditions, '{"match": "text", "path": "_text"}');
    if conditions @? '$[*] ? (!(@.match == "prefix" || @.match == "suffix") || !(@.path.type() == "array"))' then
      perform memstore.refuse_argument('conditions', 'objects with match, which is prefix or suffix, and path');
    end if;
  end if;
  if list_item_namespaces.maximum_depth < 1 then
    perform memstore.refuse_argument('maximum_depth', '1 or more');
  end if;
  if coalesce(list_item_namespaces.page_size, 100) not between 1 and 10000 then
    perform memstore.refuse_argument('page_size', '1 to 10000');
  end if;
  if list_item_namespaces.skip < 0 then
    perform memstore.refuse_argument('skip', '0 or more');
  end if;

  return query
  select distinct n.namespace[:coalesce(list_item_namespaces.maximum_depth, 32)] as listed
  from (
    select distinct i.namespace
    from memstore.items i
    where i.user_id = list_item_namespaces.actor
    and (i.expires_at is null or i.expires_at > statement_timestamp())
  ) n
  where not exists (
    select
    from jsonb_array_elements(conditions) c
    where jsonb_array_length(c -> 'path') > cardinality(n.namespace)
    or exists (
      select
      from jsonb_array_elements_text(c -> 'path') with ordinality p (label, place)
      where p.label <> '*'
      and p.label collate "C" <> n.namespace[
        p.place + case c ->> 'match' when 'suffix' then cardinality(n.namespace) - jsonb_array_length(c -> 'path') else 0 end
      ]
    )
  )
  order by listed
  limit coalesce(list_item_namespaces.page_size, 100)
  offset list_item_namespaces.skip;
end
$$;
