create or replace function memstore.insert_memory(
  actor uuid,
  body text,
  bucket text default 'user',
  source_ref text default null,
  embedding real[] default null,
  embedding_model text default null,
  slug text default null,
  entity text default null,
  tier text default null,
  as_of date default null,
  admission text default null,
  evidence_refs jsonb default null,
  language text default null,
  id uuid default null,
  scope text default null,
  metadata jsonb default null
)
returns memstore.memory
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
/*
insert_memory: remembers one thing.

Example:
  select body from memstore.insert_memory(memstore.find_user('account-1'), 'Deploys happen on Tuesdays.');
Result:
  Deploys happen on Tuesdays.

Texts of up to 100,000 bytes are trimmed of white space; an optional text that is empty counts as absent. A caller-given
id makes a retry safe: a call repeated with the same id, account and content returns the row already there. A call
without an id returns the account's live memory of the same content where there is one, and gives it the embedding where
it has none.

Arguments
  actor            uuid    the account whose memory it is
  body             text    1 to 2,000 characters
  bucket           text    user (the account said so; the default), learned (a job learned it) or system (shared)
  source_ref       text    which work taught it, 1 to 200 characters
  embedding        real[]  1 to 16,000 numbers, none beyond 1e6 in magnitude and one of at least 1e-6
  embedding_model  text    its model, 1 to 200 characters; one model has one number of dimensions
  slug             text    system only: sys: and a name, 200 characters at most
  entity           text    system only: what the claim is about, 1 to 200 characters
  tier             text    system only: ledger or glass
  as_of            date    system only: the date for which the claim holds
  admission        text    system only: candidate, admitted or rejected, as the author sees it
  evidence_refs    jsonb   system only: 1 to 20 objects with kind (receipt, memory, url), ref (2,000 characters)
                           and digest (200 characters)
  language         text    the text search configuration of the body; the account's where left out
  id               uuid    the memory's id; generated where left out
  scope            text    the project, session or agent that it is for, such as project:x, 1 to 200 characters;
                           everything where left out; not on system
  metadata         jsonb   the application's own keys: an object of 4,000 characters at most as text, no key of which
                           begins with $; an empty one counts as absent
Returns
  the memory
Errors
  actor_unknown
  quota_reached      the account holds as many live memories as it may
  id_taken           the id is taken, and not by the same memory
  embedding_dimensions_differ
  embedding_model_unregistered
  rules of memories  see list_rules
*/
declare
  v_user memstore.users := memstore.lock_account(insert_memory.actor, 'actor');
  v_given memstore.memories;
begin
  v_given.id := insert_memory.id;
  v_given.bucket := insert_memory.bucket;
  v_given.body := insert_memory.body;
  v_given.source_ref := insert_memory.source_ref;
  v_given.language := insert_memory.language;
  v_given.embedding := insert_memory.embedding;
  v_given.embedding_model := insert_memory.embedding_model;
  v_given.slug := insert_memory.slug;
  v_given.entity := insert_memory.entity;
  v_given.tier := insert_memory.tier;
  v_given.as_of := insert_memory.as_of;
  v_given.admission := insert_memory.admission;
  v_given.evidence_refs := insert_memory.evidence_refs;
  v_given.scope := insert_memory.scope;
  v_given.metadata := insert_memory.metadata;
  return memstore.write_memory(memstore.new_memory(v_user, v_given), new_id => insert_memory.id is null);
end
$$;
