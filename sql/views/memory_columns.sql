-- What may be done with each column of memories. Denied by default: a column that a migration adds is fixed, compared
-- by a retry, inherited by a correction, exported and imported. compile_columns() writes functions from it.
create or replace view memstore.memory_columns
with (security_invoker = true)
as
select
  a.attname::text as name,
  -- Not format_type(), which depends on the setting quote_all_identifiers.
  t.typname::text collate "default" as type,
  a.attnum::integer as position,
  a.attgenerated <> '' as generated,
  a.attgenerated = '' and a.attname <> all (c.mutable) as fixed,
  a.attgenerated = '' and a.attname <> all (c.mutable || c.of_the_call) as compared,
  a.attgenerated = '' and a.attname <> all (c.mutable || c.of_the_call || c.of_the_row) as inherited
from pg_catalog.pg_attribute a
join pg_catalog.pg_type t on t.oid = a.atttypid
cross join (
  values (
    -- What an UPDATE may change.
    '{embedding,embedding_model,superseded_by_id,superseded_at,updated_at}'::name[],
    -- What may differ between a call and its repetition.
    '{id,inserted_at}'::name[],
    -- What a correction, besides, doesn't inherit.
    '{user_id,evidence_refs,stance}'::name[]
  )
) c (mutable, of_the_call, of_the_row)
where a.attrelid = 'memstore.memories'::regclass
and a.attnum > 0
and not a.attisdropped;

comment on view memstore.memory_columns is
  'What may be done with each column of memories; what is not named in it is fixed.';
