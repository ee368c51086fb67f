-- What: items, which are JSON documents by path that an account overwrites, with embeddings; how many of them an account
-- may hold (users.maximum_items, settings.maximum_items), and how many it does.
-- Why: agents' frameworks keep state and files by path, which memories can't be: these are never overwritten.
-- Locks: users and settings, against reads and writes, and only for the moment. Clients: earlier ones keep working; an
-- export that an earlier command makes of an account leaves its items out.

-- Rules call them, under the search path of the writing session, so they name their operators.
create function memstore.namespace_is_valid(namespace text[])
returns boolean
language plpgsql
immutable parallel safe
as $$
begin
  return namespace is not null
    and pg_catalog.array_ndims(namespace) operator(pg_catalog.=) 1
    and pg_catalog.array_lower(namespace, 1) operator(pg_catalog.=) 1
    and pg_catalog.cardinality(namespace) operator(pg_catalog.>=) 1
    and pg_catalog.cardinality(namespace) operator(pg_catalog.<=) 32
    and pg_catalog.array_position(namespace, null) is null
    and '' operator(pg_catalog.<>) all (namespace);
end
$$;

create function memstore.item_key_is_valid(key text, namespace text[])
returns boolean
language plpgsql
immutable parallel safe
as $$
begin
  return key is not null
    and key operator(pg_catalog.<>) ''
    and pg_catalog.octet_length(key)
      operator(pg_catalog.+) coalesce(pg_catalog.octet_length(pg_catalog.array_to_string(namespace, '')), 0)
      operator(pg_catalog.<=) 2000;
end
$$;

create function memstore.item_value_is_valid(value jsonb)
returns boolean
language plpgsql
immutable parallel safe
as $$
begin
  return value is not null
    and pg_catalog.jsonb_typeof(value) operator(pg_catalog.=) 'object'
    and pg_catalog.char_length(value::pg_catalog.text) operator(pg_catalog.<=) 1000000;
end
$$;

-- Strict, so that no string of an array is found twice.
create function memstore.item_text(value jsonb)
returns text
language plpgsql
immutable parallel safe
as $$
begin
  return pg_catalog."left"(
    (
      select pg_catalog.string_agg(s.text operator(pg_catalog.#>>) '{}', ' ')
      from pg_catalog.jsonb_path_query(value, 'strict $.** ? (@.type() == "string")') s (text)
    ),
    8000
  );
end
$$;

comment on function memstore.namespace_is_valid(text[]) is 'Whether these are 1 to 32 labels, none of them empty.';
comment on function memstore.item_key_is_valid(text, text[]) is
  'Whether this is a key of at least 1 byte, and of 2,000 at most together with its namespace.';
comment on function memstore.item_value_is_valid(jsonb) is
  'Whether this is an object of 1,000,000 characters at most as text.';
comment on function memstore.item_text(jsonb) is 'The strings of a value, of which the first 8,000 characters are searched.';
revoke all on function
  memstore.namespace_is_valid(text[]),
  memstore.item_key_is_valid(text, text[]),
  memstore.item_value_is_valid(jsonb),
  memstore.item_text(jsonb)
from public;

-- What rules and columns call stays when the code layer goes.
do $$
begin
  execute replace(
    pg_catalog.pg_get_functiondef('memstore.drop_code()'::regprocedure),
    '''metadata_is_valid''',
    '''metadata_is_valid'', ''namespace_is_valid'', ''item_key_is_valid'', ''item_value_is_valid'', ''item_text'''
  );
end
$$;

create sequence memstore.item_versions;
comment on sequence memstore.item_versions is 'The versions of items: each change of one takes the next, and none comes twice.';

create table memstore.items (
  id uuid not null default pg_catalog.gen_random_uuid(),
  user_id uuid,
  namespace text[] collate pg_catalog."C",
  key text collate pg_catalog."C",
  value jsonb,
  indexed boolean default true,
  language text,
  ttl_seconds double precision,
  expires_at timestamptz,
  version bigint,
  inserted_at timestamptz default pg_catalog.clock_timestamp(),
  updated_at timestamptz default pg_catalog.clock_timestamp(),
  search_vector tsvector generated always as (
    case
      when indexed then pg_catalog.array_to_tsvector(memstore.lexeme_set(language, memstore.item_text(value)))
    end
  ) stored,
  constraint items_pkey primary key (id),
  constraint items_path_key unique (user_id, namespace, key),
  constraint items_user_id_fkey foreign key (user_id) references memstore.users (id),
  constraint items_user_id_shape check (user_id is not null),
  constraint items_namespace_shape check (memstore.namespace_is_valid(namespace)),
  constraint items_key_shape check (memstore.item_key_is_valid(key, namespace)),
  constraint items_value_shape check (memstore.item_value_is_valid(value)),
  constraint items_indexed_shape check (indexed is not null),
  constraint items_language_shape check (language is not null and memstore.is_language(language)),
  constraint items_ttl_seconds_shape check (ttl_seconds is null or ttl_seconds > 0 and ttl_seconds <= 3155760000),
  constraint items_expires_at_shape check (
    (expires_at is null) = (ttl_seconds is null)
    and (expires_at is null or expires_at >= '0001-01-02 00:00:00+00' and expires_at < '9999-12-31 00:00:00+00')
  ),
  constraint items_version_shape check (version is not null and version > 0),
  constraint items_inserted_at_shape check (
    inserted_at is not null and inserted_at >= '0001-01-02 00:00:00+00' and inserted_at < '9999-12-31 00:00:00+00'
  ),
  constraint items_updated_at_shape check (
    updated_at is not null and updated_at >= inserted_at and updated_at < '9999-12-31 00:00:00+00'
  )
);

-- Nothing of a text stays behind in the statistics once its item is gone.
alter table memstore.items
  alter column namespace set statistics 0,
  alter column key set statistics 0,
  alter column value set statistics 0,
  alter column search_vector set statistics 0;

-- What has expired: delete_expired_items and prune_items.
create index items_expires_at_idx on memstore.items (expires_at) where expires_at is not null;

comment on table memstore.items is 'JSON documents by path, which their account overwrites. They have no history, and recall doesn''t read them.';
comment on column memstore.items.id is 'The item, for its embeddings.';
comment on column memstore.items.user_id is 'The account that it belongs to.';
comment on column memstore.items.namespace is 'The path: labels, compared exactly.';
comment on column memstore.items.key is 'The name in the namespace, compared exactly.';
comment on column memstore.items.value is 'The document.';
comment on column memstore.items.indexed is 'Whether a search by words finds it.';
comment on column memstore.items.language is 'The text search configuration that reads its strings.';
comment on column memstore.items.ttl_seconds is 'How long it lives from each put or renewal on; NULL where it stays.';
comment on column memstore.items.expires_at is 'From when on it is as one that is not there.';
comment on column memstore.items.version is 'A number that each change of the item raises, and that never comes again.';
comment on column memstore.items.inserted_at is 'When it was first put.';
comment on column memstore.items.updated_at is 'When it was last put.';
comment on column memstore.items.search_vector is 'The lexemes of its strings.';
comment on constraint items_path_key on memstore.items is 'An account has one item of a path.';
comment on constraint items_user_id_fkey on memstore.items is 'An item belongs to an account that exists.';
comment on constraint items_user_id_shape on memstore.items is 'An item belongs to an account.';
comment on constraint items_namespace_shape on memstore.items is 'A namespace has 1 to 32 labels, none of them empty.';
comment on constraint items_key_shape on memstore.items is 'A key has at least 1 byte, and 2,000 bytes at most together with the labels of its namespace.';
comment on constraint items_value_shape on memstore.items is 'A value is an object of 1,000,000 characters at most as text.';
comment on constraint items_indexed_shape on memstore.items is 'An item is found by words or not.';
comment on constraint items_language_shape on memstore.items is 'The language is one of PostgreSQL''s text search configurations.';
comment on constraint items_ttl_seconds_shape on memstore.items is 'An item lives for more than 0 seconds and at most 100 years, or stays.';
comment on constraint items_expires_at_shape on memstore.items is 'An item expires if it has a time to live, in the years 1 to 9999.';
comment on constraint items_version_shape on memstore.items is 'An item has a version above 0.';
comment on constraint items_inserted_at_shape on memstore.items is 'An item has the time of its first put, of the years 1 to 9999.';
comment on constraint items_updated_at_shape on memstore.items is 'An item has the time of its last put, not before its first, up to the year 9999.';
comment on index memstore.items_expires_at_idx is 'The items that have a time to live, by when it ends.';

create table memstore.item_embeddings (
  item_id uuid not null,
  field text not null collate pg_catalog."C",
  embedding real[],
  embedding_model text,
  constraint item_embeddings_pkey primary key (item_id, field),
  constraint item_embeddings_item_id_fkey
    foreign key (item_id) references memstore.items (id) on delete cascade,
  constraint item_embeddings_embedding_model_fkey
    foreign key (embedding_model) references memstore.embedding_models (name),
  constraint item_embeddings_field_shape check (memstore.is_short(field)),
  constraint item_embeddings_embedding_shape
    check (embedding is not null and memstore.embedding_is_valid(embedding)),
  constraint item_embeddings_embedding_model_shape
    check (embedding_model is not null and memstore.is_short(embedding_model))
);

-- Numbers don't compress, and unpacking them costs each comparison.
alter table memstore.item_embeddings alter column embedding set storage external;
alter table memstore.item_embeddings
  alter column field set statistics 0,
  alter column embedding set statistics 0,
  alter column embedding_model set statistics 0;

-- Whether a model's name still has rows: the foreign key, and the removal of names.
create index item_embeddings_embedding_model_idx on memstore.item_embeddings (embedding_model);

comment on table memstore.item_embeddings is 'Embeddings of items: one of each field that the caller embedded.';
comment on column memstore.item_embeddings.item_id is 'The item.';
comment on column memstore.item_embeddings.field is 'What of the value it is of, in the caller''s words.';
comment on column memstore.item_embeddings.embedding is 'The embedding, from the caller.';
comment on column memstore.item_embeddings.embedding_model is 'The model that made it.';
comment on constraint item_embeddings_item_id_fkey on memstore.item_embeddings is 'An embedding is of an item that exists.';
comment on constraint item_embeddings_embedding_model_fkey on memstore.item_embeddings is 'An embedding''s model is known.';
comment on constraint item_embeddings_field_shape on memstore.item_embeddings is 'A field''s name has 1 to 200 characters.';
comment on constraint item_embeddings_embedding_shape on memstore.item_embeddings is 'An embedding is a flat array of 1 to 16,000 numbers, none beyond 1e6 in magnitude and one of at least 1e-6.';
comment on constraint item_embeddings_embedding_model_shape on memstore.item_embeddings is 'The embedding''s model has 1 to 200 characters.';
comment on index memstore.item_embeddings_embedding_model_idx is 'The embeddings of a model.';

create type memstore.item as (
  namespace text[],
  key text,
  value jsonb,
  version bigint,
  ttl_seconds double precision,
  expires_at timestamptz,
  inserted_at timestamptz,
  updated_at timestamptz
);
comment on type memstore.item is 'An item as the functions return it.';

alter table memstore.settings
  add column maximum_items integer default 10000,
  -- squawk-ignore constraint-missing-not-valid
  add constraint settings_maximum_items_shape check (maximum_items is not null and maximum_items >= 0);
comment on column memstore.settings.maximum_items is
  'How many items an account may hold that has no maximum of its own.';
comment on constraint settings_maximum_items_shape on memstore.settings is 'The maximum of items is 0 or more.';

alter table memstore.users
  add column maximum_items integer,
  add column stored_items integer not null default 0,
  add column restored_items integer,
  -- squawk-ignore constraint-missing-not-valid
  add constraint users_maximum_items_shape check (maximum_items is null or maximum_items >= 0),
  -- squawk-ignore constraint-missing-not-valid
  add constraint users_stored_items_shape check (stored_items >= 0);
comment on column memstore.users.maximum_items is
  'How many items it may hold; NULL for as many as the settings say. It can lie below what the account holds.';
comment on column memstore.users.stored_items is
  'How many items the account holds, with those that have expired and are not deleted; kept by triggers.';
comment on column memstore.users.restored_items is
  'How many items a dump has of the account, where these exceed its maximum; NULL once all are restored.';
comment on constraint users_maximum_items_shape on memstore.users is 'The maximum of items is 0 or more, or that of the settings.';
comment on constraint users_stored_items_shape on memstore.users is 'The count of items is 0 or more.';

alter table memstore.items enable row level security;

create policy items_of_actor on memstore.items
for select
using (
  user_id = any (array(
    select r.user_id
    from memstore.account_roles r
    where r.role = current_user
    union all
    select nullif(pg_catalog.current_setting('memstore.actor', true), '')::uuid
    where not exists (select from memstore.account_roles r where r.role = current_user)
    and exists (select from pg_catalog.pg_policy p where p.polrelid = 'memstore.account_roles'::regclass)
    and pg_catalog.has_any_column_privilege('memstore.items'::regclass, 'select')
  ))
);
comment on policy items_of_actor on memstore.items is 'A reader sees the items of the accounts that the current role is bound to, else of the one in the setting memstore.actor.';

-- They tell what items are about: a reader who is granted SELECT reads none.
alter table memstore.item_embeddings enable row level security;

insert into memstore.deployment (name) values ('0020-items');
