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
  v_ids uuid[] := array_fill(null::uuid, array[cardinality(candidates)]);
  v_versions bigint[] := array_fill(null::bigint, array[cardinality(candidates)]);
  v_embedded boolean := false;
  v_overwritten integer := 0;
  v_deleted integer := 0;
  v_item integer;
  v_model record;
  v_written record;
begin
  if versions is not null then
    select c.ordinality::integer
    into v_item
    from unnest(candidates) with ordinality c
    -- OFFSET makes each one look-up by the path.
    left join lateral (
      select i.version
      from memstore.items i
      where i.user_id = c.user_id
      and i.namespace = c.namespace
      and i.key = c.key
      and (i.expires_at is null or i.expires_at > v_now)
      offset 0
    ) s on true
    where versions[c.ordinality] <> coalesce(s.version, 0)
    order by c.ordinality
    limit 1;
    if found then
      perform memstore.refuse('item_changed', 'if_version', 'Item ' || v_item);
    end if;
  end if;

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
    where c.value is not null
    and i.user_id = c.user_id
    and i.namespace = c.namespace
    and i.key = c.key
    returning
      c.ordinality,
      i.id,
      i.version,
      exists (select from memstore.item_embeddings e where e.item_id = i.id) as embedded
  loop
    v_ids[v_written.ordinality] := v_written.id;
    v_versions[v_written.ordinality] := v_written.version;
    v_embedded := v_embedded or v_written.embedded;
    v_overwritten := v_overwritten + 1;
  end loop;
  -- A statement that writes no row fires its triggers all the same.
  if v_embedded then
    delete from memstore.item_embeddings e
    where e.item_id = any (v_ids);
  end if;

  if v_overwritten < cardinality(candidates) then
    v_deleted := (select count(*)::integer from unnest(candidates) c where c.value is null);
    -- Before the new ones, to make room. Their embeddings go by the foreign key.
    if v_deleted > 0 then
      delete from memstore.items i
      using unnest(candidates) c
      where c.value is null
      and i.user_id = c.user_id
      and i.namespace = c.namespace
      and i.key = c.key;
    end if;
  end if;

  v_item := 0;
  if v_overwritten + v_deleted < cardinality(candidates) then
    for v_written in
      insert into memstore.items as i (
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
      order by c.ordinality
      returning i.id, i.version
    loop
      -- They come in the order in which they were inserted.
      loop
        v_item := v_item + 1;
        exit when candidates[v_item].id = v_written.id;
      end loop;
      v_versions[v_item] := v_written.version;
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
