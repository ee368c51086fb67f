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
  {"items": 1, "export": 2, "language": "english", "memories": 1, "live_memories": 1}

The other lines of the file are those of export_memories, then those of export_items; the numbers of both show whether
the file was cut short. It names no account: the one that the import is for owns what is imported. The ceiling, the
maximum of items and the steward's mark are the
operator's to set, and are not exported.

Arguments
  actor  uuid  the account
Returns
  an object: export, the version of the format; language, the account's; memories, how many export_memories returns;
  live_memories, how many of them count towards the ceiling; items, how many export_items returns
Errors
  actor_unknown
*/
begin
  perform memstore.require_actor(export_account.actor);
  return (
    select jsonb_build_object(
      'export', 2,
      'language', u.language,
      'memories', (select count(*) from memstore.memories m where m.user_id = u.id),
      'live_memories', u.live_memories,
      'items', (
        select count(*)
        from memstore.items i
        where i.user_id = u.id
        and (i.expires_at is null or i.expires_at > now())
      )
    )
    from memstore.users u
    where u.id = export_account.actor
  );
end
$$;
