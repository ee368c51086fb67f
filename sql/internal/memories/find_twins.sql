-- The items of a batch, among those whose ids the database chose, that have the content of a live row, or else of an
-- item before them that becomes one; each with the id of that, of several rows the oldest. The caller has locked the
-- account that the items are of.
--   new_ids: of each item, whether the database chose its id
create or replace function memstore.find_twins(candidates memstore.memories[], new_ids boolean[])
returns table (item integer, id uuid)
language plpgsql
stable
security invoker
as $$
begin
  return query
  with items as materialized (
    select
      c.item,
      n.new_id,
      (c.candidate).id,
      (c.candidate).user_id,
      hashtextextended((c.candidate).body, 0) as digest,
      memstore.content_of(c.candidate) as content
    from (select row_number() over () as item, c as candidate from unnest(candidates) c) c
    join unnest(new_ids) with ordinality n (new_id, item) on n.item = c.item
  )
  select f.item::integer, f.first
  from (
    select
      r.item,
      r.new_id,
      r.id,
      first_value(r.id) over (partition by r.digest, r.content order by r.item, r.inserted_at, r.id) as first
    from (
      select i.item, i.new_id, i.id, i.digest, i.content, null::timestamptz as inserted_at
      from items i
      -- A repeated item returns what is there, which may be superseded: it becomes no live row.
      where i.new_id
      or not exists (select from memstore.memories m where m.id = i.id)
      union all
      select 0, false, m.id, d.digest, m.content, m.inserted_at
      from (
        select distinct i.user_id, i.digest
        from items i
        where i.new_id
      ) d
      cross join lateral (
        select m.id, m.inserted_at, memstore.content_of(m) as content
        from memstore.memories m
        where m.user_id = d.user_id
        and hashtextextended(m.body, 0) = d.digest
        -- IS TRUE keeps it from the index of live rows, which would read all that the account has.
        and (m.superseded_at is null) is true
        offset 0
      ) m
    ) r
  ) f
  where f.new_id
  and f.first <> f.id;
end
$$;

comment on function memstore.find_twins(memstore.memories[], boolean[]) is
  'The items of a batch that are of the same content as a live row, with its id.';
