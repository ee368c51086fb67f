select memstore.drop_code();
delete from memstore.deployment where name = '0023-nearest-in-meaning';

comment on column memstore.settings.score_share is
  'The share of the best score, 0 to 1, that a memory with a semantic score needs to be eligible.';
