-- One line of a note. No memory can forge another: control characters, line and paragraph separators and
-- bidirectional controls become spaces, and what opens like a line of a note opens otherwise.
create or replace function memstore.note_line(label text, body text)
returns text
language plpgsql
immutable parallel safe
security invoker
as $$
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
      '\[( *from +memory)',
      '(\1',
      'gi'
    )
  );
end
$$;

comment on function memstore.note_line(text, text) is 'One line of a note, which no body can forge.';
