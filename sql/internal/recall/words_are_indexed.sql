-- Whether the words of an account's memories can be read from the operator's indexes (options/large_accounts.sql): they
-- exist, and the account is large enough to gain by them.
create or replace function memstore.words_are_indexed(actor uuid)
returns boolean
language plpgsql
stable
security invoker
as $$
begin
  if (select u.live_memories from memstore.users u where u.id = words_are_indexed.actor) < 5000 then
    return false;
  end if;
  return 2 = (
    select count(*)
    from pg_index i
    where i.indexrelid in (
      to_regclass('memstore.memories_account_words_idx'),
      to_regclass('memstore.memories_account_sources_idx')
    )
    and i.indisvalid
  );
end
$$;

comment on function memstore.words_are_indexed(uuid) is 'Whether the words of an account''s memories are read from the operator''s indexes.';
