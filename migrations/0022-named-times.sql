-- What: a setting, time_share, by which recall ranks a memory higher that was written in a month or year that the query
-- names.
-- Why: on conversations with their dates, recall attaches more of what answers a question that names one (README.md has
-- the figures). Of other queries nothing changes.
-- Locks: settings, against reads and writes, and only for the moment. Clients: earlier ones keep working.

alter table memstore.settings
  add column time_share double precision default 0.4,
  -- squawk-ignore constraint-missing-not-valid
  add constraint settings_time_share_shape
    check (time_share is not null and time_share >= 0 and time_share <= 1);

comment on column memstore.settings.time_share is
  'By how much more a memory counts, 0 to 1, that was written in a month or year that the query names.';
comment on constraint settings_time_share_shape on memstore.settings is 'The share of the time is between 0 and 1.';

insert into memstore.deployment (name) values ('0022-named-times');
