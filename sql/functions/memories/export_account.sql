create or replace function memstore.export_account(actor uuid)
returns jsonb
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
export_account: what an export of an account begins with.

Example:
  select memstore.export_account(memstore.find_user('account-1'));
Result:
  {"export": 1, "language": "english", "memories": 1, "live_memories": 1}

The first line of a file whose other lines are those of export_memories: with the number of memories, whoever reads the
file sees whether it was cut. It names no account, since a file must not say whose memories it makes. The ceiling and
the mark of a steward are the operator's, and stay with the store.

Arguments
  actor  uuid  the account
Returns
  an object: export, the version of the format; language, the account's; memories, how many export_memories gives;
  live_memories, how many of them count towards a ceiling
Errors
  actor_unknown
*/
begin
  perform memstore.require_actor(export_account.actor);
  return (
    select jsonb_build_object(
      'export', 1,
      'language', u.language,
      'memories', (select count(*) from memstore.memories m where m.user_id = u.id),
      'live_memories', u.live_memories
    )
    from memstore.users u
    where u.id = export_account.actor
  );
end
$$;

comment on function memstore.export_account(uuid) is 'What an export of an account begins with: its language, and how many memories follow.';
