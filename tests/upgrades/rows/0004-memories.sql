-- Memories of all buckets: corrected, merged, with a deleted correction; embeddings, claims, a tombstone.
insert into memstore.memories (
  id, user_id, bucket, body, source_ref, language, embedding, embedding_model, inserted_at, superseded_by_id,
  superseded_at
)
values
  (pg_temp.id(10), pg_temp.id(1), 'user', E'Straße 上海\ttab \\ backslash', null, 'english', '{1,0}', 'm', '2026-01-01', pg_temp.id(11), '2026-01-02'),
  (pg_temp.id(11), pg_temp.id(1), 'user', 'Corrected.', null, 'english', '{0,1}', 'm', '2026-01-02', null, null),
  (pg_temp.id(12), pg_temp.id(1), 'learned', 'Merged.', 'task-1', 'english', null, null, '2026-01-01', pg_temp.id(14), '2026-01-03'),
  (pg_temp.id(13), pg_temp.id(1), 'user', 'Merged too.', null, 'english', null, null, '2026-01-01', pg_temp.id(14), '2026-01-04'),
  (pg_temp.id(14), pg_temp.id(1), 'user', 'Both, in the Straße.', null, 'english', '{1,1}', 'm', '2026-01-02', pg_temp.id(15), '2026-01-05'),
  (pg_temp.id(15), pg_temp.id(1), 'user', 'Both, corrected.', null, 'english', null, null, '2026-01-05', null, null),
  (pg_temp.id(16), pg_temp.id(1), 'user', 'Its correction is deleted.', null, 'english', null, null, '2026-01-01', null, '2026-01-02'),
  (pg_temp.id(17), pg_temp.id(2), 'learned', 'nur hier', 'task-1', 'german', null, null, '2026-01-01', null, null),
  (pg_temp.id(18), pg_temp.id(5), 'user', 'one', null, 'simple', null, null, '2026-01-01', null, null),
  (pg_temp.id(19), pg_temp.id(5), 'user', 'one above the ceiling', null, 'simple', null, null, '2026-01-01', null, null);
insert into memstore.memories (
  id, user_id, bucket, body, language, slug, entity, tier, as_of, admission, evidence_refs, stance, inserted_at,
  superseded_by_id, superseded_at
)
select
  pg_temp.id(c.n), c.author, 'system', c.body, 'english', 'sys:x' || c.n % 10,
  c.entity, 'glass', '2026-01-02', 'candidate', '[{"kind": "url", "ref": "r", "digest": "d"}]', c.stance,
  c.inserted_at::timestamptz, c.superseded_by_id, c.superseded_at::timestamptz
from (
  values
    (20, pg_temp.id(3), 'Claim 20.', 'pnpm', null, '2026-01-01', null, null),
    (21, pg_temp.id(2), 'Claim 21.', null, null, '2026-01-01', null, null),
    (22, pg_temp.id(2), 'Claim 22.', null, null, '2026-01-01', pg_temp.id(32), '2026-01-03'),
    (23, pg_temp.id(3), 'Claim 23.', null, null, '2026-01-01', pg_temp.id(33), '2026-01-03'),
    (24, pg_temp.id(3), 'Claim 24.', null, null, '2026-01-01', null, null),
    (25, pg_temp.id(1), 'Claim 25.', null, null, '2026-01-01', null, null),
    (32, pg_temp.id(3), 'Promoted to a-stance.', null, 'a-stance', '2026-01-03', null, null),
    (33, pg_temp.id(3), 'Claim 23, corrected.', null, null, '2026-01-03', null, null)
) c (n, author, body, entity, stance, inserted_at, superseded_by_id, superseded_at);
update memstore.users u
set live_memories = (
  select count(*) from memstore.memories m where m.user_id = u.id and m.superseded_at is null and not m.promoted
);
