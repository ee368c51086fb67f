-- Writes the functions that depend on the database: on the tables' columns and rules, and on whether pgvector is
-- installed; what bound roles call in place of the API; and the comments of the public functions.
do $$
begin
  perform memstore.compile_rules(t.table_name)
  from (select distinct r.table_name from memstore.rules r) t;
  perform memstore.compile_columns();
  perform memstore.compile_embedding_is_usable();
  perform memstore.compile_scores();
  perform memstore.compile_item_similarities();
  perform memstore.compile_own_api();
  perform memstore.compile_comments();
end
$$;
