select memstore.drop_code();
delete from memstore.deployment where name = '0019-quiet-notes';

alter table memstore.settings
  drop column user_floor,
  drop column score_share;
