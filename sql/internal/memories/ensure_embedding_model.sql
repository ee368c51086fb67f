-- Guarantees until the transaction ends that this model's embeddings have this number of dimensions, or refuses it.
-- The first use of a name fixes the number; an unregistered name that no row uses may get another one. The caller has
-- locked its account: this may block on a concurrent first use of the name. While registered_models_only is on, a name
-- that the operator has not registered is refused.
--   context: the part of the call, such as Item 3
--   any_name: whether the setting doesn't count: for the operator, and a restore of rows that were stored before
create or replace function memstore.ensure_embedding_model(
  name text,
  dimensions integer,
  context text default null,
  any_name boolean default false
)
returns void
language plpgsql
volatile
security invoker
as $$
declare
  v_model memstore.embedding_models;
begin
  loop
    perform 1
    from memstore.embedding_models m
    where m.name = ensure_embedding_model.name
    and m.dimensions = ensure_embedding_model.dimensions
    and (m.registered or any_name or not (select s.registered_models_only from memstore.settings s))
    for key share;
    exit when found;

    select m.*
    into v_model
    from memstore.embedding_models m
    where m.name = ensure_embedding_model.name;
    if not coalesce(v_model.registered, false)
      and not any_name
      and (select s.registered_models_only from memstore.settings s)
    then
      perform memstore.refuse('embedding_model_unregistered', 'embedding_model', context);
    elsif v_model.name is null then
      insert into memstore.embedding_models (name, dimensions)
      values (ensure_embedding_model.name, ensure_embedding_model.dimensions)
      on conflict on constraint embedding_models_pkey do nothing;
    elsif v_model.dimensions = ensure_embedding_model.dimensions then
      continue;
    elsif v_model.registered
      or exists (
        select
        from memstore.memories o
        where o.embedding_model = ensure_embedding_model.name
        and cardinality(o.embedding) <> ensure_embedding_model.dimensions
      )
      or exists (
        select
        from memstore.item_embeddings o
        where o.embedding_model = ensure_embedding_model.name
        and cardinality(o.embedding) <> ensure_embedding_model.dimensions
      )
      or current_setting('transaction_isolation') <> 'read committed'
    then
      perform memstore.refuse('embedding_dimensions_differ', 'embedding', context);
    else
      -- No other row than the one being written uses the name. Locked first, so that the UPDATE has a snapshot in
      -- which a concurrent writer's rows are committed.
      perform 1
      from memstore.embedding_models m
      where m.name = ensure_embedding_model.name
      for update;
      update memstore.embedding_models m
      set dimensions = ensure_embedding_model.dimensions
      where m.name = ensure_embedding_model.name
      and not m.registered
      and not exists (
        select
        from memstore.memories o
        where o.embedding_model = m.name
        and cardinality(o.embedding) <> ensure_embedding_model.dimensions
      )
      and not exists (
        select
        from memstore.item_embeddings o
        where o.embedding_model = m.name
        and cardinality(o.embedding) <> ensure_embedding_model.dimensions
      );
    end if;
    -- Not found: a concurrent transaction inserted, deleted or changed the name.
    exit when found;
  end loop;
end
$$;

comment on function memstore.ensure_embedding_model(text, integer, text, boolean) is
  'Fixes or checks the number of dimensions of a model''s embeddings.';
