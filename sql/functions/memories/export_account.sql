create or replace function memstore.export_account(actor uuid)
returns jsonb
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
export_account: describes an account in the first line of its export.

Example:
  select memstore.export_account(memstore.find_user('account-1'));
Result:
  {"export": 1, "language": "english", "memories": 1, "live_memories": 1}

The other lines of the file are those of export_memories; the number of memories shows whether the file was cut short.
It names no account: the one that the import is for owns the memories. The ceiling and the steward's mark are the
operator's to set, and are not exported.

Arguments
  actor  uuid  the account
Returns
  an object: export, the version of the format; language, the account's; memories, how many export_memories returns;
  live_memories, how many of them count towards the ceiling
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
