-- What: that a tombstone's body contains its stance is a part of the rule of the stance, and no more of the body's.
-- Why: whoever writes a body that is too long was told of tombstones.
-- Locks: memories, against reads and writes, while it is read once to check the rules. Clients: earlier ones keep
-- working.

alter table memstore.memories
  -- squawk-ignore ban-drop-constraint
  drop constraint memories_body_shape,
  -- squawk-ignore constraint-missing-not-valid
  add constraint memories_body_shape check (memstore.body_is_valid(body, null)),
  -- squawk-ignore ban-drop-constraint
  drop constraint memories_stance_shape,
  -- squawk-ignore constraint-missing-not-valid
  add constraint memories_stance_shape check (
    case bucket
      when 'system' then
        stance is null
        or memstore.stance_is_valid(stance)
        and (body is null or pg_catalog.strpos(body, stance) operator(pg_catalog.>) 0)
      else stance is null
    end
  );
comment on constraint memories_body_shape on memstore.memories is 'The body has 1 to 2,000 characters and is not blank.';
comment on constraint memories_stance_shape on memstore.memories is 'A system memory''s stance has 1 to 200 characters, lowercase words joined by single hyphens, and the body contains it, or is absent; others have none.';

insert into memstore.deployment (name) values ('0017-stance-in-body');
