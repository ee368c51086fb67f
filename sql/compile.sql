-- Compiles what depends on the database: the tables' rules, and the comparison of embeddings.
do $$
begin
  perform memstore.compile_rules(t.table_name)
  from (select distinct r.table_name from memstore.rules r) t;
  perform memstore.compile_columns();
  perform memstore.compile_embedding_is_usable();
  perform memstore.compile_scores();
end
$$;
