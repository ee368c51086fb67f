select memstore.drop_code();
delete from memstore.deployment where name = '0018-scopes-and-metadata';

alter type memstore.memory drop attribute metadata, drop attribute scope;

alter table memstore.users drop column has_twins;

create index memories_user_id_idx on memstore.memories (user_id);
comment on index memstore.memories_user_id_idx is 'All of an account''s memories.';
drop index memstore.memories_account_body_idx;

alter table memstore.memories drop column metadata, drop column scope;

do $$
begin
  execute replace(
    pg_catalog.pg_get_functiondef('memstore.drop_code()'::regprocedure),
    '''stance_is_valid'', ''metadata_is_valid''',
    '''stance_is_valid'''
  );
end
$$;

drop function memstore.metadata_is_valid(jsonb);
