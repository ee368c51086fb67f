select memstore.drop_code();
delete from memstore.deployment where name = '0022-named-times';
alter table memstore.settings drop column time_share;
