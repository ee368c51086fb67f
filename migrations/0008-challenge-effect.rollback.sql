select memstore.drop_code();
delete from memstore.deployment where name = '0008-challenge-effect';
alter type memstore.admission_record drop attribute effect;
