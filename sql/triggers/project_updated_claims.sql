-- Takes superseded claims out of what system recall reads, and follows their embeddings: once a statement, so that many
-- of them cost one refresh. Updating the row of claim_counter first serialises the writers, as in project_records().
create or replace function memstore.project_updated_claims()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  v_claims uuid[];
begin
  -- Most updates concern no claim.
  if not exists (select from new_memories n where n.bucket = 'system') then
    return null;
  end if;
  -- EXCEPT instead of a join, whose plan, made for a few rows, would be a nested loop over many. A candidate's embedding
  -- counts too: it may be admitted at this moment, and the row of claim_counter makes one see the other.
  v_claims := array(
    select c.id
    from (
      select
        n.id,
        n.superseded_at is null as live,
        case when n.superseded_at is null then n.embedding_model end,
        case when n.superseded_at is null then n.embedding end
      from new_memories n
      where n.bucket = 'system'
      and not n.promoted
      except
      select
        o.id,
        o.superseded_at is null,
        case when o.superseded_at is null then o.embedding_model end,
        case when o.superseded_at is null then o.embedding end
      from old_memories o
      where o.bucket = 'system'
    ) c
  );
  if v_claims = '{}' then
    return null;
  end if;

  update memstore.claim_counter set changes = changes + 1;
  perform memstore.refresh_admitted_claims(v_claims);
  return null;
end
$$;

comment on function memstore.project_updated_claims() is 'Trigger: keeps what system recall reads after claims are updated.';

-- Named to fire after memories_count_update: accounts are locked before the counter.
create or replace trigger memories_status_update
after update on memstore.memories
referencing old table as old_memories new table as new_memories
for each statement
execute function memstore.project_updated_claims();
