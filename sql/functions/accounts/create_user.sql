create or replace function memstore.create_user(
  id uuid default null,
  external_ref text default null,
  language text default 'english'
)
returns uuid
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
create_user: creates an account, or returns the one that has this external_ref.

Example:
  select memstore.create_user(external_ref => 'account-2') = memstore.create_user(external_ref => 'account-2');
Result:
  t

With an external_ref or an id the call is safe to repeat: it returns the same account again. Without both, every call
creates another account.

Arguments
  id            uuid     the account's id; generated where left out
  external_ref  text     the application's own id, 1 to 200 characters, compared exactly
  language      text     the text search configuration of the account's memories; 'english' by default
Returns
  the account's id
Errors
  id_taken       the id has another external_ref, or the external_ref another id
  actor_unknown  the id is an erased account's
  users_external_ref_shape
  users_language_shape
*/
declare
  v_candidate memstore.users;
  v_stored memstore.users;
begin
  select u.*
  into v_stored
  from memstore.users u
  where u.external_ref = create_user.external_ref
  or u.id = create_user.id
  order by u.id = create_user.id
  limit 1;

  if not found then
    v_candidate.id := coalesce(create_user.id, gen_random_uuid());
    v_candidate.external_ref := create_user.external_ref;
    v_candidate.language := coalesce(memstore.trim_text(create_user.language), 'english');
    v_candidate.steward := false;
    v_candidate.maximum_live_memories := (select s.maximum_live_memories from memstore.settings s);
    v_candidate.live_memories := 0;
    v_candidate.stored_items := 0;
    v_candidate.inserted_at := clock_timestamp();
    if not memstore.users_obey(v_candidate) then
      perform memstore.refuse_row('users', memstore.users_broken(v_candidate));
    end if;

    insert into memstore.users as u (id, external_ref, language, maximum_live_memories, inserted_at)
    values (
      v_candidate.id, v_candidate.external_ref, v_candidate.language, v_candidate.maximum_live_memories,
      v_candidate.inserted_at
    )
    on conflict do nothing
    returning u.*
    into v_stored;
    if found then
      return v_stored.id;
    end if;
    -- A concurrent transaction created it.
    select u.*
    into v_stored
    from memstore.users u
    where u.external_ref = create_user.external_ref
    or u.id = create_user.id
    order by u.id = create_user.id
    limit 1;
  end if;

  if v_stored.erased_at is not null then
    perform memstore.refuse('actor_unknown', 'id');
  end if;
  if v_stored.external_ref is distinct from create_user.external_ref
    or v_stored.id is distinct from coalesce(create_user.id, v_stored.id)
  then
    perform memstore.refuse('id_taken', 'id');
  end if;
  return v_stored.id;
end
$$;
