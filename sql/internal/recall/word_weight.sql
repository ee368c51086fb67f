-- What a word of the query weighs, which df of n rows have: the rarer, the more.
create or replace function memstore.word_weight(n bigint, df bigint)
returns double precision
language sql
immutable parallel safe
security invoker
as $$
  select ln(1 + (n - df + 0.5::double precision) / (df + 0.5::double precision))
$$;

comment on function memstore.word_weight(bigint, bigint) is 'What a word weighs that df of n rows have.';
