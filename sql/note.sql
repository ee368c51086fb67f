-- Notes what roles can execute, before functions are dropped or change their arguments: see grants.sql.
do $$
begin
  perform memstore.note_grants();
end
$$;
