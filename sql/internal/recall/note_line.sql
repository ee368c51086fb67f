-- One line of a note. No memory can forge another: control characters, line and paragraph separators and
-- bidirectional controls become spaces, and what opens like a line of a note opens otherwise.
create or replace function memstore.note_line(label text, body text)
returns text
language plpgsql
immutable parallel safe
security invoker
set standard_conforming_strings = on
as $$
declare
  -- [From memory, also with other spaces or with what can't be seen in between.
  c_opening constant text := '\[(?='
    || '[^!-~]{0,8}f[^!-~]{0,8}r[^!-~]{0,8}o[^!-~]{0,8}m'
    || '[^!-~]{0,8}m[^!-~]{0,8}e[^!-~]{0,8}m[^!-~]{0,8}o[^!-~]{0,8}r[^!-~]{0,8}y'
    || ')';
begin
  return format(
    '[From memory: %s] %s',
    note_line.label,
    regexp_replace(
      regexp_replace(
        note_line.body,
        '[\u0001-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]',
        ' ',
        'g'
      ),
      c_opening,
      '(',
      'gi'
    )
  );
end
$$;

comment on function memstore.note_line(text, text) is 'One line of a note, which no body can forge.';
