select memstore.drop_code();
delete from memstore.deployment where name = '0011-text-search-comments';
do $$
declare
  v_language text;
begin
  foreach v_language in array memstore.languages() loop
    execute format('comment on text search configuration memstore.%I is null', v_language);
  end loop;
end
$$;
