select memstore.drop_code();
delete from memstore.deployment where name = '0020-items';

alter table memstore.users drop column restored_items, drop column stored_items, drop column maximum_items;
alter table memstore.settings drop column maximum_items;
drop type memstore.item;
drop table memstore.item_embeddings;
drop table memstore.items;
drop sequence memstore.item_versions;

-- Names of models that only items had.
delete from memstore.embedding_models e
where not e.registered
and not exists (select from memstore.memories m where m.embedding_model = e.name);

do $$
begin
  execute replace(
    pg_catalog.pg_get_functiondef('memstore.drop_code()'::regprocedure),
    ', ''namespace_is_valid'', ''item_key_is_valid'', ''item_value_is_valid'', ''item_text''',
    ''
  );
end
$$;

drop function
  memstore.item_text(jsonb),
  memstore.item_value_is_valid(jsonb),
  memstore.item_key_is_valid(text, text[]),
  memstore.namespace_is_valid(text[]);
