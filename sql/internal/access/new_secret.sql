-- A token's secret: two UUIDs of PostgreSQL's cryptographic generator, 244 random bits, in 64 digits.
create or replace function memstore.new_secret()
returns text
language sql
volatile
security invoker
as $$
  select 'mst_' || encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex');
$$;

comment on function memstore.new_secret() is 'A new secret of a token.';
