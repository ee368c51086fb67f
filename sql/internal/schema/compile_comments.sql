-- Gives each public function its summary as a comment: the first line of the header that its body opens with.
create or replace function memstore.compile_comments()
returns void
language plpgsql
volatile
security invoker
set search_path = pg_catalog, pg_temp
as $$
declare
  v_function record;
begin
  for v_function in
    select f.oid::regprocedure as signature, upper(left(f.summary, 1)) || substr(f.summary, 2) as comment
    from memstore.pages f
  loop
    execute format('comment on function %s is %L', v_function.signature, v_function.comment);
  end loop;
end
$$;

comment on function memstore.compile_comments() is 'Gives the public functions their summaries as comments.';
