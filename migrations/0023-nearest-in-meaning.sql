-- What: the words about the setting score_share.
-- Why: what is nearly as near in meaning as the nearest is no more left out for it.
-- Locks: settings, against changes of the table, and only for the moment. Clients: earlier ones keep working.

comment on column memstore.settings.score_share is
  'The share of the best score, 0 to 1, that a memory with a semantic score needs to be eligible, '
  'unless it is nearly as near in meaning as the nearest.';

insert into memstore.deployment (name) values ('0023-nearest-in-meaning');
