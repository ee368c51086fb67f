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
  v_body text := regexp_replace(
    note_line.body,
    '[\u0001-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]',
    ' ',
    'g'
  );
begin
  return format(
    '[From memory: %s] %s',
    note_line.label,
    case
      -- Of ASCII only spaces are left that can be between the letters.
      when octet_length(v_body) = char_length(v_body) then
        regexp_replace(v_body, '\[(?= *f *r *o *m *m *e *m *o *r *y)', '(', 'gi')
      else memstore.close_openings(memstore.close_openings(v_body, false), true)
    end
  );
end
$$;

comment on function memstore.note_line(text, text) is 'One line of a note, which no body can forge.';
