-- The accounts that own rows of the chains of some of an account's claims. A deletion locks them before the rows, in
-- the order of ids, so that no pointer of the chains is changed meanwhile.
create or replace function memstore.chain_accounts(actor uuid, ids uuid[])
returns uuid[]
language sql
stable
security invoker
as $$
  with recursive chain as (
    select m.id, m.user_id, m.superseded_by_id
    from memstore.memories m
    where m.id = any (chain_accounts.ids)
    -- IS TRUE leaves the look-up to the key: the account's index would read all of its rows.
    and (m.user_id = chain_accounts.actor) is true
    and m.bucket = 'system'
    union
    select n.id, n.user_id, n.superseded_by_id
    from chain c
    cross join lateral (
      select m.id, m.user_id, m.superseded_by_id
      from memstore.memories m
      where m.id = c.superseded_by_id
      union all
      select m.id, m.user_id, m.superseded_by_id
      from memstore.memories m
      where m.superseded_by_id = c.id
      -- Each row is one look-up, also where the statistics say that many share a replacement.
      offset 0
    ) n
  )
  select array(select distinct c.user_id from chain c)
$$;

comment on function memstore.chain_accounts(uuid, uuid[]) is 'The accounts of the chains of some claims of an account.';
