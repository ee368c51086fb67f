-- Holds the number of dimensions of a model's embeddings: the first one fixes it.
create or replace function memstore.ensure_embedding_model(name text, dimensions integer, context text default null)
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
    for key share;
    exit when found;

    select m.*
    into v_model
    from memstore.embedding_models m
    where m.name = ensure_embedding_model.name;
    if not found then
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
      or current_setting('transaction_isolation') <> 'read committed'
    then
      perform memstore.refuse('embedding_dimensions_differ', 'embedding', context);
    else
      -- Nobody uses the name, but for the row that is being written. Locked first, so that the next statement sees
      -- what a concurrent writer committed.
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
      );
    end if;
    -- Otherwise the name came, went or changed in between.
    exit when found;
  end loop;
end
$$;

comment on function memstore.ensure_embedding_model(text, integer, text) is 'Holds the number of dimensions of a model''s embeddings.';
