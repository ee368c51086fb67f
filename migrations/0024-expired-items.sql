-- What: an index of an account's items that have a time to live.
-- Why: delete_expired_items read all items of the account.
-- Locks: items, against writes, while those that have a time to live are read once. Clients: earlier ones keep working.

create index items_user_id_expires_at_idx on memstore.items (user_id, expires_at) where expires_at is not null;
comment on index memstore.items_user_id_expires_at_idx is 'The items of an account that have a time to live, by when it ends.';

insert into memstore.deployment (name) values ('0024-expired-items');
