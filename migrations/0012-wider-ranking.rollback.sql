select memstore.drop_code();
delete from memstore.deployment where name = '0012-wider-ranking';

update memstore.settings set previous_share = 0.5 where previous_share = 0.6;
update memstore.settings set next_share = 0.1 where next_share = 0.4;
comment on column memstore.settings.previous_share is
  'How much a lexeme of a query counts, 0 to 1, that only the previous memory of the same source has.';
comment on column memstore.settings.next_share is
  'How much a lexeme of a query counts, 0 to 1, that only the next memory of the same source has.';
alter table memstore.settings
  alter column previous_share set default 0.5,
  alter column next_share set default 0.1,
  drop column speaker_share,
  drop column source_share;
