-- What: the operator's settings, the accounts, and the names of embedding models.
-- Locks: nothing that exists. Clients: there is no earlier one.

create table memstore.settings (
  singleton boolean not null default true,
  maximum_live_memories integer default 200,
  maximum_attached integer default 8,
  maximum_attached_characters integer default 2000,
  lexical_floor double precision default 0,
  semantic_floor double precision default 0.3,
  previous_share double precision default 0.5,
  next_share double precision default 0.1,
  system_recall_enabled boolean default false,
  maximum_system_pool integer default 40,
  constraint settings_pkey primary key (singleton),
  constraint settings_singleton_shape check (singleton),
  constraint settings_maximum_live_memories_shape
    check (maximum_live_memories is not null and maximum_live_memories >= 0),
  constraint settings_maximum_attached_shape
    check (maximum_attached is not null and maximum_attached >= 0),
  constraint settings_maximum_attached_characters_shape
    check (maximum_attached_characters is not null and maximum_attached_characters >= 0),
  constraint settings_lexical_floor_shape
    check (lexical_floor is not null and lexical_floor >= 0 and lexical_floor <= 1),
  constraint settings_semantic_floor_shape
    check (semantic_floor is not null and semantic_floor >= 0 and semantic_floor <= 1),
  constraint settings_previous_share_shape
    check (previous_share is not null and previous_share >= 0 and previous_share <= 1),
  constraint settings_next_share_shape
    check (next_share is not null and next_share >= 0 and next_share <= 1),
  constraint settings_system_recall_enabled_shape check (system_recall_enabled is not null),
  constraint settings_maximum_system_pool_shape
    check (maximum_system_pool is not null and maximum_system_pool >= 0)
);

insert into memstore.settings default values;

comment on table memstore.settings is 'What the operator decides for the whole store: one row, changed through configure().';
comment on column memstore.settings.singleton is 'True: there is one row.';
comment on column memstore.settings.maximum_live_memories is 'The ceiling of live memories that a new account gets.';
comment on column memstore.settings.maximum_attached is 'How many memories one recall attaches, unless the call says otherwise.';
comment on column memstore.settings.maximum_attached_characters is 'How many characters of bodies one recall attaches, unless the call says otherwise.';
comment on column memstore.settings.lexical_floor is 'A learned memory is eligible with a lexical score above this, 0 to 1.';
comment on column memstore.settings.semantic_floor is 'A learned memory is eligible with a semantic score above this, 0 to 1.';
comment on column memstore.settings.previous_share is 'By how much a word counts for the memory after the one that has it, of the same source, 0 to 1.';
comment on column memstore.settings.next_share is 'By how much a word counts for the memory before the one that has it, of the same source, 0 to 1.';
comment on column memstore.settings.system_recall_enabled is 'Whether recall reads the system bucket.';
comment on column memstore.settings.maximum_system_pool is 'How many claims of the system bucket are ranked for one turn.';
comment on constraint settings_singleton_shape on memstore.settings is 'There is one row of settings.';
comment on constraint settings_maximum_live_memories_shape on memstore.settings is 'The ceiling for new accounts is 0 or more.';
comment on constraint settings_maximum_attached_shape on memstore.settings is 'The number of attached memories is 0 or more.';
comment on constraint settings_maximum_attached_characters_shape on memstore.settings is 'The number of attached characters is 0 or more.';
comment on constraint settings_lexical_floor_shape on memstore.settings is 'The lexical floor is between 0 and 1.';
comment on constraint settings_semantic_floor_shape on memstore.settings is 'The semantic floor is between 0 and 1.';
comment on constraint settings_previous_share_shape on memstore.settings is 'The share of the memory before is between 0 and 1.';
comment on constraint settings_next_share_shape on memstore.settings is 'The share of the memory after is between 0 and 1.';
comment on constraint settings_system_recall_enabled_shape on memstore.settings is 'System recall is on or off.';
comment on constraint settings_maximum_system_pool_shape on memstore.settings is 'The size of the system pool is 0 or more.';

create table memstore.users (
  id uuid not null default pg_catalog.gen_random_uuid(),
  external_ref text collate "C",
  language text default 'english',
  steward boolean default false,
  maximum_live_memories integer,
  live_memories integer default 0,
  inserted_at timestamptz default pg_catalog.clock_timestamp(),
  erased_at timestamptz,
  constraint users_pkey primary key (id),
  constraint users_external_ref_key unique (external_ref),
  constraint users_external_ref_shape check (pg_catalog.char_length(external_ref) between 1 and 200),
  constraint users_language_shape check (language is not null and language = any (memstore.languages())),
  constraint users_steward_shape check (steward is not null and not (steward and erased_at is not null)),
  constraint users_maximum_live_memories_shape
    check (maximum_live_memories is not null and maximum_live_memories >= 0),
  constraint users_live_memories_shape check (live_memories is not null and live_memories >= 0),
  constraint users_inserted_at_shape check (inserted_at is not null),
  constraint users_erased_at_shape check (erased_at is null or external_ref is null)
)
-- Every insert and delete of a memory updates its account's row: room for HOT updates.
with (fillfactor = 70);

alter table memstore.users alter column external_ref set statistics 0;

comment on table memstore.users is 'The accounts: whose memories they are.';
comment on column memstore.users.id is 'The account, as every function''s first argument names it.';
comment on column memstore.users.external_ref is 'The application''s own id of the account, compared exactly.';
comment on column memstore.users.language is 'The text search configuration of the account''s memories, unless a memory names its own.';
comment on column memstore.users.steward is 'Whether the operator has marked the account as a steward of the system bucket.';
comment on column memstore.users.maximum_live_memories is 'The ceiling of live memories, of all buckets, tombstones aside. It can lie below what the account holds.';
comment on column memstore.users.live_memories is 'How many live memories the account holds, tombstones aside; kept by triggers.';
comment on column memstore.users.inserted_at is 'When the account was created.';
comment on column memstore.users.erased_at is 'When the account was erased; it can do nothing since.';
comment on constraint users_external_ref_key on memstore.users is 'An application''s id belongs to one account.';
comment on constraint users_external_ref_shape on memstore.users is 'The application''s id has 1 to 200 characters.';
comment on constraint users_language_shape on memstore.users is 'The language is one of PostgreSQL''s text search configurations.';
comment on constraint users_steward_shape on memstore.users is 'An account is a steward or not, and not once it is erased.';
comment on constraint users_maximum_live_memories_shape on memstore.users is 'The ceiling of live memories is 0 or more.';
comment on constraint users_live_memories_shape on memstore.users is 'The count of live memories is 0 or more.';
comment on constraint users_inserted_at_shape on memstore.users is 'An account has the time of its creation.';
comment on constraint users_erased_at_shape on memstore.users is 'An erased account has no application''s id.';

create table memstore.embedding_models (
  name text not null,
  dimensions integer,
  registered boolean default false,
  constraint embedding_models_pkey primary key (name),
  constraint embedding_models_name_shape check (name is not null and pg_catalog.char_length(name) between 1 and 200),
  constraint embedding_models_dimensions_shape check (dimensions is not null and dimensions between 1 and 16000),
  constraint embedding_models_registered_shape check (registered is not null)
);

alter table memstore.embedding_models alter column name set statistics 0;

comment on table memstore.embedding_models is 'The embedding models in use, and how many numbers an embedding of each has.';
comment on column memstore.embedding_models.name is 'The model''s name, as memories carry it.';
comment on column memstore.embedding_models.dimensions is 'The number of dimensions; the first embedding, or the operator, fixes it.';
comment on column memstore.embedding_models.registered is 'Whether the operator registered it. A name that is not registered goes with its last embedding.';
comment on constraint embedding_models_name_shape on memstore.embedding_models is 'A model''s name has 1 to 200 characters.';
comment on constraint embedding_models_dimensions_shape on memstore.embedding_models is 'An embedding has 1 to 16,000 dimensions.';
comment on constraint embedding_models_registered_shape on memstore.embedding_models is 'A model''s name is registered or not.';

alter table memstore.users enable row level security;

-- Whoever is granted SELECT sees the account that the session names, and nothing where it names none.
create policy users_of_actor on memstore.users
for select
using (id = nullif(pg_catalog.current_setting('memstore.actor', true), '')::uuid);

comment on policy users_of_actor on memstore.users is 'A reader sees the account in the setting memstore.actor.';

insert into memstore.deployment (name) values ('0003-accounts');
