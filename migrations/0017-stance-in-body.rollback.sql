select memstore.drop_code();
delete from memstore.deployment where name = '0017-stance-in-body';
alter table memstore.memories
  drop constraint memories_body_shape,
  add constraint memories_body_shape check (memstore.body_is_valid(body, stance)),
  drop constraint memories_stance_shape,
  add constraint memories_stance_shape check (
    case bucket when 'system' then stance is null or memstore.stance_is_valid(stance) else stance is null end
  );
comment on constraint memories_body_shape on memstore.memories is 'The body has 1 to 2,000 characters and is not blank; a tombstone''s contains its stance.';
comment on constraint memories_stance_shape on memstore.memories is 'A system memory''s stance has 1 to 200 characters, lowercase words joined by single hyphens, or is absent; others have none.';
