select memstore.drop_code();
delete from memstore.deployment where name = '0021-tokens';

-- What the role of memstore serve could execute stays; an earlier version takes it for granted by hand.
update memstore.api_roles set bundle = null where bundle = 'serve';
alter table memstore.api_roles
  drop constraint api_roles_bundle_shape,
  add constraint api_roles_bundle_shape check (bundle in ('all', 'write', 'read', 'bound'));
comment on column memstore.api_roles.bundle is 'What grant_api granted: all, write or read; bound: by bind_role; NULL: by hand, which is never added to.';
comment on constraint api_roles_bundle_shape on memstore.api_roles is 'What was granted is all, write, read or bound, or was granted by hand.';

drop table memstore.tokens;
