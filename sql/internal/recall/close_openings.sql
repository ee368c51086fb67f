-- Has what opens like a line of a note, [From memory, open with a parenthesis instead; every other character stays. What
-- can't be seen doesn't count (default ignorable code points), and what looks like these letters or this bracket does:
-- compatibility forms, accents, letters of other scripts.
--   tags: whether tag characters, which can't be seen, count as the ASCII characters that they stand for
create or replace function memstore.close_openings(body text, tags boolean)
returns text
language plpgsql
immutable parallel safe
security invoker
set standard_conforming_strings = on
as $$
declare
  c_ignorable constant text := '[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e'
    || '\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8'
    || '\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+';
  c_marks constant text := '[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+';
  c_brackets constant text := '［﹇【〔〖〘〚⟦❲⁅⦋⦍⦏⦗︹︻︗﹝⹕⹗⟬';
  c_f constant text := '[fƒꜰꞙꞘẝքϝϜғҒꓝᖴ]';
  c_r constant text := '[rгГʀƦᴦⲅꭇꭈꮁꓣᎡᏒᖇɼɾɽ]';
  c_o constant text := '[oοΟоОσօՕᴏᴑꬽⲟⲞⵔꓳዐøØɵƟөӨ०੦૦௦౦೦൦๐໐၀۵٥𐐄𐐬𐓂𐓪]';
  c_m constant text := '[mмМΜᴍⲘⲙᎷꮇꓟᗰᛖɱϺϻ]';
  c_e constant text := '[eеЕεΕєЄҽҼᴇ℮ꬲᎬꭼꓰⲉⲈⴹɛƐ]';
  c_y constant text := '[yуУүҮγΥʏᎽᎩꓬⲩⲨყỿɣᶌꭚ]';
  -- Also with other spaces, or other characters, in between.
  c_gap constant text := '[^!-~]{0,8}';
  c_words constant text := c_gap
    || concat_ws(c_gap, c_f, c_r, c_o, c_m, c_m, c_e, c_m, c_o, c_r, c_y);
  v_opening text := '[\[' || c_brackets || case when tags then '\U000e005b' else '' end || ']';
  v_folded text := body;
  v_texts text[];
  v_folded_texts text[];
begin
  -- Mostly there is none.
  if body !~ v_opening or tags and body !~ '[\U000e0020-\U000e007e]' then
    return body;
  end if;

  if tags then
    v_folded := translate(
      v_folded,
      (select string_agg(chr(917504 + n), '' order by n) from generate_series(32, 126) n),
      (select string_agg(chr(n), '' order by n) from generate_series(32, 126) n)
    );
  end if;
  v_folded := regexp_replace(v_folded, c_ignorable, '', 'g');
  -- Before the decomposition: the brackets, of which it makes none, and the long s, which it makes a short one.
  v_folded := normalize(
    regexp_replace(regexp_replace(v_folded, v_opening, '[', 'g'), '[\u017f\u1e9b]', 'f', 'g'), nfkd
  );
  v_folded := regexp_replace(lower(regexp_replace(v_folded, c_marks, '', 'g') collate "C"), '[ \u1680]+', ' ', 'g');
  if v_folded !~ ('\[' || c_words) then
    return body;
  end if;

  -- No bracket came or went, so what follows the nth here follows the nth there.
  v_texts := regexp_split_to_array(body, v_opening);
  v_folded_texts := string_to_array(v_folded, '[');
  return v_texts[1] || (
    select string_agg(
      case when v_folded_texts[b.position + 1] ~ ('^' || c_words) then '(' else b.bracket[1] end
        || v_texts[b.position + 1],
      '' order by b.position
    )
    from regexp_matches(body, v_opening, 'g') with ordinality b (bracket, position)
  );
end
$$;

comment on function memstore.close_openings(text, boolean) is
  'A body in which nothing opens like a line of a note.';
