select memstore.drop_code();
delete from memstore.deployment where name = '0024-expired-items';
drop index memstore.items_user_id_expires_at_idx;
