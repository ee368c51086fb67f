select memstore.drop_code();
delete from memstore.deployment where name = '0003-accounts';
drop table memstore.embedding_models;
drop table memstore.users;
drop table memstore.settings;
