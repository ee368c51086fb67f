create or replace function memstore.forget_embedding_model(name text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
forget_embedding_model: takes back register_embedding_model.

Example:
  select memstore.forget_embedding_model('no such model');
Result:

Operator only. The name is deleted at once where no memory uses it, and otherwise with its last embedding.

Arguments
  name  text  the model's name
Errors
  none
*/
begin
  update memstore.embedding_models e
  set registered = false
  where e.name = forget_embedding_model.name;
  delete from memstore.embedding_models e
  where e.name = forget_embedding_model.name
  and not exists (select from memstore.memories m where m.embedding_model = e.name);
end
$$;
