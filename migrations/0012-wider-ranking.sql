-- What: two settings, speaker_share and source_share, by which recall ranks a memory higher whose speaker the query names,
-- or whose source fits the query; and new defaults of previous_share (0.6 for 0.5) and next_share (0.4 for 0.1), which now
-- reach two memories far. Where a store has the earlier default, it gets the new one.
-- Why: on conversations, recall attaches more of what answers a question (README.md has the figures).
-- Locks: settings, against reads and writes, and only for the moment. Clients: earlier ones keep working.

alter table memstore.settings
  add column speaker_share double precision default 0.4,
  add column source_share double precision default 0.3,
  alter column previous_share set default 0.6,
  alter column next_share set default 0.4,
  -- squawk-ignore constraint-missing-not-valid
  add constraint settings_speaker_share_shape
    check (speaker_share is not null and speaker_share >= 0 and speaker_share <= 1),
  -- squawk-ignore constraint-missing-not-valid
  add constraint settings_source_share_shape
    check (source_share is not null and source_share >= 0 and source_share <= 1);

comment on column memstore.settings.previous_share is
  'How much a lexeme of a query counts, 0 to 1, that the previous memory of the same source has; its square, where the one before has it.';
comment on column memstore.settings.next_share is
  'How much a lexeme of a query counts, 0 to 1, that the next memory of the same source has; its square, where the one after has it.';
comment on column memstore.settings.speaker_share is
  'By how much more a memory counts, 0 to 1, whose label begins with a word of the query: Anna: …';
comment on column memstore.settings.source_share is
  'How much the best memory of the same source counts, 0 to 1, beside the memory itself.';
comment on constraint settings_speaker_share_shape on memstore.settings is 'The share of the speaker is between 0 and 1.';
comment on constraint settings_source_share_shape on memstore.settings is 'The share of the source is between 0 and 1.';

update memstore.settings set previous_share = 0.6 where previous_share = 0.5;
update memstore.settings set next_share = 0.4 where next_share = 0.1;

insert into memstore.deployment (name) values ('0012-wider-ranking');
