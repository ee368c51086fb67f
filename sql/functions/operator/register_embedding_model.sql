create or replace function memstore.register_embedding_model(name text, dimensions integer)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
register_embedding_model: fixes the number of dimensions of a model's embeddings.

Example:
  select memstore.register_embedding_model('two-numbers', 2);
Result:

Operator only. The first embedding of a model does the same; a registered name also stays when no memory uses it.
Where the setting registered_models_only is on, only registered models are accepted.

Arguments
  name        text     the model's name, 1 to 200 characters
  dimensions  integer  1 to 16,000
Errors
  embedding_dimensions_differ  embeddings with another number of dimensions are stored
  rules of embedding_models    such as embedding_models_dimensions_shape
*/
declare
  v_model memstore.embedding_models;
begin
  v_model.name := memstore.trim_text(register_embedding_model.name);
  v_model.dimensions := register_embedding_model.dimensions;
  v_model.registered := true;
  if not memstore.embedding_models_obey(v_model) then
    perform memstore.refuse_row('embedding_models', memstore.embedding_models_broken(v_model));
  end if;

  perform memstore.ensure_embedding_model(v_model.name, v_model.dimensions, any_name => true);
  update memstore.embedding_models e
  set registered = true
  where e.name = v_model.name;
end
$$;
