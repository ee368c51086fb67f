-- Updates the projection of statuses after records changed. The caller has updated the row of claim_counter, which
-- serialises the calls, and has inserted and deleted the rows of open_challenges; their effective is set here.
--   claims: the claims whose verdict may have changed, or which were deleted
--   authors: the accounts whose open challenges changed
create or replace function memstore.refresh_statuses(claims uuid[], authors uuid[])
returns void
language plpgsql
volatile
security invoker
as $$
declare
  v_admitted_before bigint := (select c.admitted from memstore.claim_counter c);
  v_admitted bigint;
  v_share_before bigint;
  v_share bigint;
  v_authors uuid[] := authors;
  v_claims uuid[] := claims;
begin
  if cardinality(claims) > 0 then
    with latest as (
      select
        c.id,
        (
          select r.verdict
          from memstore.memory_admissions r
          where r.memory_id = c.id
          and r.role = 'admission'
          order by r.inserted_at desc, r.id desc
          limit 1
        ) as verdict
      from (select distinct u.id from unnest(claims) u (id)) c
    ),
    removed as (
      delete from memstore.claim_statuses s
      using latest l
      where s.memory_id = l.id
      and l.verdict is null
      returning s.verdict
    ),
    written as (
      insert into memstore.claim_statuses as s (memory_id, verdict, status)
      select l.id, l.verdict, l.verdict
      from latest l
      where l.verdict is not null
      on conflict (memory_id) do update
      set verdict = excluded.verdict, status = excluded.status
      where s.verdict <> excluded.verdict
    )
    select
      v_admitted_before
      + count(*) filter (where l.verdict = 'admitted')
      - count(*) filter (where s.verdict = 'admitted')
    into v_admitted
    from latest l
    left join memstore.claim_statuses s on s.memory_id = l.id;

    update memstore.claim_counter
    set admitted = v_admitted
    where admitted <> v_admitted;

    select array_agg(distinct o.user_id) || v_authors
    into v_authors
    from memstore.open_challenges o
    where o.memory_id = any (claims)
    and o.evidenced;
  else
    v_admitted := v_admitted_before;
  end if;

  v_share_before := ceil(v_admitted_before / 4.0)::bigint;
  v_share := ceil(v_admitted / 4.0)::bigint;
  -- No account has more open challenges than that, so a larger share changes nothing.
  if v_share <> v_share_before and least(v_share, v_share_before) < memstore.maximum_open_challenges() then
    select array_agg(q.user_id) || v_authors
    into v_authors
    from (
      select o.user_id
      from memstore.open_challenges o
      where o.evidenced
      group by o.user_id
      having count(*) > least(v_share, v_share_before)
    ) q;
  end if;

  with challenged as (
    select distinct on (o.user_id, o.memory_id) o.user_id, o.memory_id, o.inserted_at, o.challenge_id
    from memstore.open_challenges o
    join memstore.claim_statuses s on s.memory_id = o.memory_id and s.verdict = 'admitted'
    where o.user_id = any (v_authors)
    and o.evidenced
    order by o.user_id, o.memory_id, o.inserted_at, o.challenge_id
  ),
  queued as (
    select c.challenge_id, row_number() over (partition by c.user_id order by c.inserted_at, c.challenge_id) as position
    from challenged c
  ),
  changed as (
    update memstore.open_challenges o
    set effective = not o.effective
    where o.user_id = any (v_authors)
    and o.effective <> exists (select from queued q where q.challenge_id = o.challenge_id and q.position <= v_share)
    returning o.memory_id
  )
  select array_agg(distinct c.memory_id) || v_claims
  into v_claims
  from changed c;

  update memstore.claim_statuses s
  set status = d.status
  from (
    select
      s.memory_id,
      case
        when s.verdict = 'admitted'
          and exists (select from memstore.open_challenges o where o.memory_id = s.memory_id and o.effective)
        then 'suspended'
        else s.verdict
      end as status
    from memstore.claim_statuses s
    where s.memory_id = any (v_claims)
  ) d
  where s.memory_id = d.memory_id
  and s.status <> d.status;

  perform memstore.refresh_admitted_claims(v_claims);
end
$$;

comment on function memstore.refresh_statuses(uuid[], uuid[]) is
  'Updates the projection of statuses after records changed.';
