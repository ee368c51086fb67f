-- Compiles the tables' rules into functions.
do $$
begin
  perform memstore.compile_rules(t.table_name)
  from (select distinct r.table_name from memstore.rules r) t;
end
$$;
