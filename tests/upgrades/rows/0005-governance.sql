-- Records: admissions, and challenges that are open, queued, refuted, without evidence, of an erased account.
insert into memstore.memory_admissions (
  id, memory_id, user_id, role, verdict, challenge_id, ground, evidence_refs, inserted_at
)
select r.id, r.memory_id, r.user_id, r.role, r.verdict, r.challenge_id, r.ground, r.evidence_refs::jsonb,
  r.inserted_at::timestamptz
from (
  values
    (pg_temp.id(40), pg_temp.id(20), pg_temp.id(3), 'admission', 'admitted', null, 'ground', null, '2026-01-02'),
    (pg_temp.id(41), pg_temp.id(21), pg_temp.id(3), 'admission', 'admitted', null, 'ground', null, '2026-01-02'),
    (pg_temp.id(42), pg_temp.id(22), pg_temp.id(3), 'admission', 'admitted', null, 'ground', null, '2026-01-02'),
    (pg_temp.id(43), pg_temp.id(23), pg_temp.id(3), 'admission', 'admitted', null, 'ground', null, '2026-01-02'),
    (pg_temp.id(44), pg_temp.id(24), pg_temp.id(3), 'admission', 'admitted', null, 'ground', null, '2026-01-02'),
    (pg_temp.id(45), pg_temp.id(24), pg_temp.id(3), 'admission', 'rejected', null, 'ground', null, '2026-01-03'),
    (pg_temp.id(50), pg_temp.id(20), pg_temp.id(1), 'challenge', null, null, 'wrong', '[{"kind": "url", "ref": "r", "digest": "d"}]', '2026-01-04'),
    (pg_temp.id(51), pg_temp.id(21), pg_temp.id(1), 'challenge', null, null, 'queued', '[{"kind": "url", "ref": "r", "digest": "d"}]', '2026-01-05'),
    (pg_temp.id(52), pg_temp.id(20), pg_temp.id(2), 'challenge', null, null, 'without evidence', null, '2026-01-05'),
    (pg_temp.id(53), pg_temp.id(21), pg_temp.id(2), 'challenge', null, null, 'refuted', '[{"kind": "url", "ref": "r", "digest": "d"}]', '2026-01-05'),
    (pg_temp.id(54), pg_temp.id(21), pg_temp.id(4), 'challenge', null, null, '[erased]', '[{"kind": "url", "ref": "[erased]", "digest": "[erased]"}]', '2026-01-06'),
    (pg_temp.id(60), pg_temp.id(21), pg_temp.id(3), 'refutation', null, pg_temp.id(53), 'no', null, '2026-01-07')
) r (id, memory_id, user_id, role, verdict, challenge_id, ground, evidence_refs, inserted_at);
-- Of four admitted claims one is an account's share.
insert into memstore.claim_statuses (memory_id, verdict, status)
values
  (pg_temp.id(20), 'admitted', 'suspended'), (pg_temp.id(21), 'admitted', 'suspended'), (pg_temp.id(22), 'admitted', 'admitted'),
  (pg_temp.id(23), 'admitted', 'admitted'), (pg_temp.id(24), 'rejected', 'rejected');
insert into memstore.open_challenges (challenge_id, memory_id, user_id, inserted_at, evidenced, effective)
values
  (pg_temp.id(50), pg_temp.id(20), pg_temp.id(1), '2026-01-04', true, true), (pg_temp.id(51), pg_temp.id(21), pg_temp.id(1), '2026-01-05', true, false),
  (pg_temp.id(52), pg_temp.id(20), pg_temp.id(2), '2026-01-05', false, false), (pg_temp.id(54), pg_temp.id(21), pg_temp.id(4), '2026-01-06', true, true);
update memstore.claim_counter set admitted = 4, changes = 11;
