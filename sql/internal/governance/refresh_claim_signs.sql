-- Brings the signs of admitted claims' embeddings up to date. The caller has updated the counter's row, so that nobody
-- else is here, and has brought admitted_claims up to date.
--   ids: the claims that may have changed
create or replace function memstore.refresh_claim_signs(ids uuid[])
returns void
language plpgsql
volatile
security invoker
as $$
begin
  delete from memstore.claim_signs s
  where s.memory_id = any (ids)
  and not exists (
    select
    from memstore.admitted_claims a
    join memstore.memories m on m.id = a.memory_id
    where a.memory_id = s.memory_id
    and m.embedding_model is not null
  );

  insert into memstore.claim_signs as s (signs, embedding_model, memory_id, user_id, inserted_at)
  select memstore.sign_bits(m.embedding), m.embedding_model, m.id, m.user_id, m.inserted_at
  from memstore.admitted_claims a
  join memstore.memories m on m.id = a.memory_id
  where a.memory_id = any (ids)
  and m.embedding_model is not null
  on conflict (memory_id) do update
  set embedding_model = excluded.embedding_model, signs = excluded.signs
  where row(s.embedding_model, s.signs) is distinct from row(excluded.embedding_model, excluded.signs);
end
$$;

comment on function memstore.refresh_claim_signs(uuid[]) is 'Brings the signs of admitted claims'' embeddings up to date.';
