-- What is stored of a secret, and compared.
create or replace function memstore.digest_of(secret text)
returns bytea
language sql
immutable parallel safe
security invoker
as $$
  select sha256(convert_to(secret, 'UTF8'));
$$;

comment on function memstore.digest_of(text) is 'The SHA-256 of a secret.';
