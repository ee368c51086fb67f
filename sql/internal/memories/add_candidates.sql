-- The kept counts of an account (users.candidates) with more, or fewer, memories of one language. A language that has
-- none left is not named.
create or replace function memstore.add_candidates(candidates jsonb, language text, memories bigint, of_user bigint)
returns jsonb
language plpgsql
immutable parallel safe
security invoker
as $$
begin
  memories := memories + coalesce((candidates -> language ->> 0)::bigint, 0);
  return case
    when memories = 0 then candidates - language
    else candidates || jsonb_build_object(
      language, jsonb_build_array(memories, of_user + coalesce((candidates -> language ->> 1)::bigint, 0))
    )
  end;
end
$$;

comment on function memstore.add_candidates(jsonb, text, bigint, bigint) is 'The kept counts of an account with more, or fewer, memories of a language.';
