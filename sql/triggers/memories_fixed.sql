-- What a memory says never changes, for anybody. AFTER, because a BEFORE UPDATE trigger would have the
-- generated columns computed anew.
create or replace function memstore.refuse_memory_change()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform memstore.refuse(
    'memory_is_immutable',
    case
      when new.id is distinct from old.id then 'id'
      when new.user_id is distinct from old.user_id then 'user_id'
      when new.bucket is distinct from old.bucket then 'bucket'
      when new.body is distinct from old.body then 'body'
      when new.source_ref is distinct from old.source_ref then 'source_ref'
      when new.language is distinct from old.language then 'language'
      when new.slug is distinct from old.slug then 'slug'
      when new.entity is distinct from old.entity then 'entity'
      when new.tier is distinct from old.tier then 'tier'
      when new.as_of is distinct from old.as_of then 'as_of'
      when new.admission is distinct from old.admission then 'admission'
      when new.evidence_refs is distinct from old.evidence_refs then 'evidence_refs'
      when new.stance is distinct from old.stance then 'stance'
      else 'inserted_at'
    end
  );
  return null;
end
$$;

comment on function memstore.refuse_memory_change() is 'Trigger: refuses a change of what a memory says.';

create or replace trigger memories_fixed
after update on memstore.memories
for each row
when (
  row(new.id, new.user_id, new.bucket, new.body, new.source_ref, new.language, new.slug, new.entity, new.tier, new.as_of,
    new.admission, new.evidence_refs, new.stance, new.inserted_at)
  is distinct from
  row(old.id, old.user_id, old.bucket, old.body, old.source_ref, old.language, old.slug, old.entity, old.tier, old.as_of,
    old.admission, old.evidence_refs, old.stance, old.inserted_at)
)
execute function memstore.refuse_memory_change();
