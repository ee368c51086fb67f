-- Raises not_supersedable; where the target is the account's own and superseded, the hint says by what. Of a foreign and
-- an unknown target it says the same.
create or replace function memstore.refuse_correction(actor uuid, target uuid)
returns void
language plpgsql
stable
security invoker
as $$
declare
  v_successor uuid;
begin
  select m.superseded_by_id
  into v_successor
  from memstore.memories m
  where m.id = refuse_correction.target
  and (m.user_id = refuse_correction.actor) is true;
  perform memstore.refuse(
    'not_supersedable',
    'target',
    hint => 'It was superseded by ' || v_successor || ': correct that one, or the newest of its history.'
  );
end
$$;

comment on function memstore.refuse_correction(uuid, uuid) is
  'Raises not_supersedable, and says what superseded a memory of the account.';
