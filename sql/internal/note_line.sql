-- One line of a note. No memory can forge another: control characters, line and paragraph separators and
-- bidirectional controls become spaces, and what opens like a line of a note opens otherwise.
create or replace function memstore.note_line(label text, body text)
returns text
language sql
immutable parallel safe
security invoker
as $$
  select pg_catalog.format(
    '[From memory: %s] %s',
    label,
    pg_catalog.regexp_replace(
      pg_catalog.regexp_replace(
        body,
        '[\u0001-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]',
        ' ',
        'g'
      ),
      '\[( *from +memory)',
      '(\1',
      'gi'
    )
  )
$$;

comment on function memstore.note_line(text, text) is 'One line of a note, which no body can forge.';
