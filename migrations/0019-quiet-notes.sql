-- What: two settings, user_floor and score_share, by which recall leaves out what is far from the query in meaning; both
-- are off.
-- Why: notes with less that isn't about the query (README.md has the figures).
-- Locks: settings, against reads and writes, and only for the moment. Clients: earlier ones keep working.

alter table memstore.settings
  add column user_floor double precision default 0,
  add column score_share double precision default 0,
  -- squawk-ignore constraint-missing-not-valid
  add constraint settings_user_floor_shape check (user_floor is not null and user_floor >= 0 and user_floor <= 1),
  -- squawk-ignore constraint-missing-not-valid
  add constraint settings_score_share_shape check (score_share is not null and score_share >= 0 and score_share <= 1);

comment on column memstore.settings.user_floor is
  'The semantic score, 0 to 1, that makes a user memory eligible which has one and no word of the query.';
comment on column memstore.settings.score_share is
  'The share of the best score, 0 to 1, that a memory with a semantic score needs to be eligible.';
comment on constraint settings_user_floor_shape on memstore.settings is 'The floor of user memories is between 0 and 1.';
comment on constraint settings_score_share_shape on memstore.settings is
  'The share of the best score is between 0 and 1.';

insert into memstore.deployment (name) values ('0019-quiet-notes');
