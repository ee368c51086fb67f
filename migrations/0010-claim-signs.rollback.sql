select memstore.drop_code();
delete from memstore.deployment where name = '0010-claim-signs';
drop table memstore.claim_signs;
