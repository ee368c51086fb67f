select memstore.drop_code();
delete from memstore.deployment where name = '0016-skipped-loads';
alter table memstore.deployment drop column catalog;
