-- What: a memory may have a scope (the project, session or agent that it is for) and metadata (the application's own
-- keys); an account's memories are found by their body.
-- Why: applications narrow what they read, and what is remembered twice is stored once.
-- Locks: memories, against reads and writes, while it is read twice: to check the rules, and to build the index that
-- replaces the one on the account; users, for a moment. The code layer fills users.has_twins when it first loads, so
-- that no write between the two is missed: see sql/fill.sql. Clients: earlier ones keep working.

-- A rule is read and planned for each statement that writes a row, a function once a session. It runs under the search
-- path of the writing session, so it names its operators.
create function memstore.metadata_is_valid(metadata jsonb)
returns boolean
language plpgsql
immutable parallel safe
as $$
begin
  return metadata is not null
    and pg_catalog.jsonb_typeof(metadata) operator(pg_catalog.=) 'object'
    and metadata operator(pg_catalog.<>) '{}'
    and pg_catalog.char_length(metadata::pg_catalog.text) operator(pg_catalog.<=) 4000
    and not pg_catalog.jsonb_path_exists(metadata, '$.keyvalue().key ? (@ starts with "$")');
end
$$;

comment on function memstore.metadata_is_valid(jsonb) is
  'Whether this is an object of 4,000 characters at most as text, not empty, no key of which begins with $.';
revoke all on function memstore.metadata_is_valid(jsonb) from public;

-- What rules call stays when the code layer goes.
do $$
begin
  execute replace(
    pg_catalog.pg_get_functiondef('memstore.drop_code()'::regprocedure),
    '''stance_is_valid''',
    '''stance_is_valid'', ''metadata_is_valid'''
  );
end
$$;

alter table memstore.memories
  add column scope text collate pg_catalog."C",
  add column metadata jsonb,
  -- squawk-ignore constraint-missing-not-valid
  add constraint memories_scope_shape check (scope is null or bucket <> 'system' and memstore.is_short(scope)),
  -- squawk-ignore constraint-missing-not-valid
  add constraint memories_metadata_shape check (metadata is null or memstore.metadata_is_valid(metadata));
alter table memstore.memories
  alter column scope set statistics 0,
  alter column metadata set statistics 0;

comment on column memstore.memories.scope is
  'The project, session or agent that it is for; NULL where it applies everywhere.';
comment on column memstore.memories.metadata is 'The application''s own keys.';
comment on constraint memories_scope_shape on memstore.memories is
  'The scope has 1 to 200 characters, or is absent; a system memory has none.';
comment on constraint memories_metadata_shape on memstore.memories is
  'Metadata are an object of 4,000 characters at most as text, no key of which begins with $, or absent.';

-- All of an account's memories, as the index that it replaces, and those of one body.
create index memories_account_body_idx on memstore.memories (user_id, pg_catalog.hashtextextended(body, 0));
alter index memstore.memories_account_body_idx alter column 2 set statistics 0;
drop index memstore.memories_user_id_idx;
comment on index memstore.memories_account_body_idx is 'All of an account''s memories, and those of one body.';

alter table memstore.users add column has_twins boolean;
comment on column memstore.users.has_twins is
  'Whether live memories that a recall can attach may have one body; NULL where nobody has looked. Kept by triggers.';

alter type memstore.memory add attribute scope text collate pg_catalog."C", add attribute metadata jsonb;

-- Until the code layer loads, functions return the type with the fields, too.
do $$
begin
  if pg_catalog.to_regprocedure('memstore.compile_columns()') is not null then
    perform memstore.compile_columns();
  end if;
end
$$;

insert into memstore.deployment (name) values ('0018-scopes-and-metadata');
