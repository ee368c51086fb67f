select memstore.drop_code();
drop function memstore.drop_code();
drop table memstore.deployment;
comment on schema memstore is null;
