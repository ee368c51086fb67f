-- Whether one of these accounts was erased. For triggers, which come after the foreign key has locked the accounts
-- (FOR KEY SHARE): an erasure is over by then, and one that an older snapshot doesn't have got 40001 there, because
-- delete_user() has locked the account FOR UPDATE.
create or replace function memstore.has_erased(ids uuid[])
returns boolean
language plpgsql
stable
security invoker
as $$
begin
  return exists (
    select
    from unnest(ids) i (id)
    -- OFFSET makes each a look-up by the key.
    cross join lateral (
      select u.erased_at
      from memstore.users u
      where u.id = i.id
      offset 0
    ) u
    where u.erased_at is not null
  );
end
$$;

comment on function memstore.has_erased(uuid[]) is 'Whether one of these accounts was erased.';
