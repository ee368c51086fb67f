-- Writes items: inserts those whose path is free, overwrites the others, deletes those without a value; an item's earlier
-- embeddings go. The caller has read the items (read_items, read_item_embeddings) and then locked the account, so that
-- what is found here stays.
--   versions: of each item, the version that it must have, 0 that it must be absent, NULL that it may have any
--   embeddings, embedded: the embeddings, and of each the place of its item
--   with_history: whether the items keep the times that they have
-- Returns, in the order of the items, the new version of each, NULL where it was deleted.
create or replace function memstore.write_items(
  candidates memstore.items[],
  versions bigint[],
  embeddings memstore.item_embeddings[],
  embedded integer[],
  with_history boolean default false
)
returns setof bigint
language plpgsql
volatile
security invoker
as $$
declare
  v_now timestamptz := clock_timestamp();
  v_ids uuid[];
  v_found bigint[];
  v_versions bigint[] := array_fill(null::bigint, array[cardinality(candidates)]);
  v_item integer;
  v_model record;
  v_written record;
  v_deletes boolean;
  v_inserts boolean;
  v_updates boolean;
  v_embedded boolean;
begin
  select
    array_agg(s.id order by c.ordinality),
    array_agg(case when s.expires_at <= v_now then 0 else coalesce(s.version, 0) end order by c.ordinality),
    bool_or(c.value is null),
    bool_or(c.value is not null and s.id is null),
    bool_or(c.value is not null and s.id is not null),
    bool_or(s.embedded)
  into v_ids, v_found, v_deletes, v_inserts, v_updates, v_embedded
  from unnest(candidates) with ordinality c
  -- OFFSET makes each one look-up by the path.
  left join lateral (
    select
      i.id, i.version, i.expires_at,
      exists (select from memstore.item_embeddings e where e.item_id = i.id) as embedded
    from memstore.items i
    where i.user_id = c.user_id
    and i.namespace = c.namespace
    and i.key = c.key
    offset 0
  ) s on true;

  if versions is not null then
    select g.item
    into v_item
    from unnest(versions) with ordinality g (version, item)
    where g.version <> v_found[g.item]
    order by g.item
    limit 1;
    if found then
      perform memstore.refuse('item_changed', 'if_version', 'Item ' || v_item);
    end if;
  end if;

  -- A statement that writes no row fires its triggers all the same.
  if v_embedded then
    delete from memstore.item_embeddings e
    where e.item_id = any (v_ids);
  end if;
  if v_deletes then
    delete from memstore.items i
    where i.id in (
      select v_ids[c.ordinality]
      from unnest(candidates) with ordinality c
      where c.value is null
    );
  end if;

  if v_updates then
    for v_written in
      update memstore.items i
      set
        value = c.value,
        indexed = c.indexed,
        language = c.language,
        ttl_seconds = c.ttl_seconds,
        expires_at = case
          when with_history then c.expires_at
          else v_now + c.ttl_seconds * interval '1 second'
        end,
        version = nextval('memstore.item_versions'),
        inserted_at = case
          when with_history then c.inserted_at
          when i.expires_at <= v_now then v_now
          else i.inserted_at
        end,
        -- The clock may have been set back.
        updated_at = case when with_history then c.updated_at else greatest(v_now, i.inserted_at) end
      from unnest(candidates) with ordinality c
      where i.id = v_ids[c.ordinality]
      and c.value is not null
      returning c.ordinality, i.version
    loop
      v_versions[v_written.ordinality] := v_written.version;
    end loop;
  end if;
  if v_inserts then
    insert into memstore.items (
      id, user_id, namespace, key, value, indexed, language, ttl_seconds, expires_at, inserted_at, updated_at
    )
    select
      c.id, c.user_id, c.namespace, c.key, c.value, c.indexed, c.language, c.ttl_seconds,
      case when with_history then c.expires_at else v_now + c.ttl_seconds * interval '1 second' end,
      case when with_history then c.inserted_at else v_now end,
      case when with_history then c.updated_at else v_now end
    from unnest(candidates) with ordinality c
    where v_ids[c.ordinality] is null
    and c.value is not null
    order by c.ordinality;
    for v_written in
      select c.ordinality, i.version
      from unnest(candidates) with ordinality c
      join memstore.items i on i.id = c.id
    loop
      v_versions[v_written.ordinality] := v_written.version;
    end loop;
  end if;

  if embeddings <> '{}' then
    -- In the order of names, so that two calls with new ones don't deadlock.
    for v_model in
      select e.embedding_model as name, cardinality(e.embedding) as dimensions, min(embedded[e.ordinality]) as item
      from unnest(embeddings) with ordinality e
      where candidates[embedded[e.ordinality]].value is not null
      group by e.embedding_model, cardinality(e.embedding)
      order by e.embedding_model collate "C", 3
    loop
      perform memstore.ensure_embedding_model(v_model.name, v_model.dimensions, 'Item ' || v_model.item);
    end loop;
    insert into memstore.item_embeddings (item_id, field, embedding, embedding_model)
    select coalesce(v_ids[embedded[e.ordinality]], e.item_id), e.field, e.embedding, e.embedding_model
    from unnest(embeddings) with ordinality e
    where candidates[embedded[e.ordinality]].value is not null;
  end if;

  return query
  select n.version
  from unnest(v_versions) n (version);
end
$$;

comment on function memstore.write_items(memstore.items[], bigint[], memstore.item_embeddings[], integer[], boolean) is
  'Writes items, in the order of the call.';
