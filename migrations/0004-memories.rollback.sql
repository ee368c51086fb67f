select memstore.drop_code();
delete from memstore.deployment where name = '0004-memories';
drop type memstore.memory;
drop table memstore.memories;
