select memstore.drop_code();
delete from memstore.deployment where name = '0002-text';
drop function memstore.evidence_is_valid(jsonb);
drop function memstore.lexemes(text, text);
drop function memstore.trim_text(text);
drop function memstore.languages();
