-- What: the tokens that name an account to memstore serve, and a bundle of functions for its role.
-- Why: agents that run elsewhere, and people, reach memories over HTTP.
-- Locks: users, against writes, for a moment, for the foreign key of the new table. Clients: earlier ones keep working.

create table memstore.tokens (
  id uuid not null default pg_catalog.gen_random_uuid(),
  user_id uuid,
  kind text,
  name text,
  scopes text[],
  digest bytea,
  inserted_at timestamptz default pg_catalog.clock_timestamp(),
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz,
  constraint tokens_pkey primary key (id),
  constraint tokens_digest_key unique (digest),
  constraint tokens_user_id_fkey foreign key (user_id) references memstore.users (id) on delete cascade,
  constraint tokens_user_id_shape check (user_id is not null),
  constraint tokens_kind_shape check (kind is not null and kind in ('agent', 'login', 'session')),
  constraint tokens_name_shape check (name is not null and memstore.is_short(name)),
  constraint tokens_scopes_shape check (
    scopes is not null
    and pg_catalog.cardinality(scopes) > 0
    and scopes <@ array['recall', 'remember', 'forget', 'claims', 'steward', 'operator']
  ),
  constraint tokens_digest_shape check (digest is not null and pg_catalog.octet_length(digest) = 32),
  constraint tokens_inserted_at_shape check (inserted_at is not null),
  constraint tokens_expires_at_shape check (
    expires_at is not null
    and expires_at > inserted_at
    and expires_at <= inserted_at + pg_catalog.make_interval(years => 100)
    and (kind <> 'login' or expires_at <= inserted_at + pg_catalog.make_interval(hours => 1))
    and (kind <> 'session' or expires_at <= inserted_at + pg_catalog.make_interval(days => 30))
  )
)
-- Room for last_used_at: no index has it, so its updates are HOT.
with (fillfactor = 70);

create index tokens_user_id_idx on memstore.tokens (user_id);
alter table memstore.tokens
  alter column name set statistics 0,
  alter column scopes set statistics 0,
  alter column digest set statistics 0;

comment on table memstore.tokens is
  'What names an account to memstore serve. Of each secret the SHA-256 alone is here.';
comment on column memstore.tokens.id is 'The token''s id, by which it is listed and revoked; no secret.';
comment on column memstore.tokens.user_id is 'The account that it names.';
comment on column memstore.tokens.kind is
  'agent: for a program; login: a link that becomes a session once; session: of a browser.';
comment on column memstore.tokens.name is 'What people call it, such as the program that has it.';
comment on column memstore.tokens.scopes is 'What it allows; the view api_scopes says which function needs which.';
comment on column memstore.tokens.digest is 'The SHA-256 of the secret.';
comment on column memstore.tokens.inserted_at is 'When it was made.';
comment on column memstore.tokens.expires_at is 'When it ends.';
comment on column memstore.tokens.last_used_at is 'When it was last used, to the minute.';
comment on column memstore.tokens.revoked_at is 'When it was revoked.';
comment on constraint tokens_user_id_fkey on memstore.tokens is 'The account exists.';
comment on constraint tokens_digest_key on memstore.tokens is 'A secret is one token''s.';
comment on constraint tokens_user_id_shape on memstore.tokens is 'A token is an account''s.';
comment on constraint tokens_kind_shape on memstore.tokens is 'A token is an agent''s, a login or a session.';
comment on constraint tokens_name_shape on memstore.tokens is 'A token''s name has 1 to 200 characters.';
comment on constraint tokens_scopes_shape on memstore.tokens is
  'A token has one scope or more of recall, remember, forget, claims, steward and operator.';
comment on constraint tokens_digest_shape on memstore.tokens is 'A digest has 32 bytes.';
comment on constraint tokens_inserted_at_shape on memstore.tokens is 'A token has the time of its making.';
comment on constraint tokens_expires_at_shape on memstore.tokens is
  'A token ends after it was made: a login within an hour, a session within 30 days, an agent''s within 100 years.';
comment on index memstore.tokens_user_id_idx is 'The tokens of an account.';

-- Without a policy: nobody but the schema's owner reads a digest, whatever else he may read.
alter table memstore.tokens enable row level security;

alter table memstore.api_roles
  -- squawk-ignore ban-drop-constraint
  drop constraint api_roles_bundle_shape,
  -- squawk-ignore constraint-missing-not-valid
  add constraint api_roles_bundle_shape check (bundle in ('all', 'write', 'read', 'bound', 'serve'));
comment on column memstore.api_roles.bundle is 'What grant_api granted: all, write or read; bound: by bind_role; serve: by grant_serve; NULL: by hand, which is never added to.';
comment on constraint api_roles_bundle_shape on memstore.api_roles is 'What was granted is all, write, read, bound or serve, or was granted by hand.';

insert into memstore.deployment (name) values ('0021-tokens');
