-- Written by: python -m memstore.schema. A test holds it true.
do $$
begin
  perform memstore.record_deployment(
'a3c8c60f73634135be02644780278e81c8d139bebe014bbabb11ad8230631179',
'{
  "0001-deployment": "07c3569e605c6f0f6d7366868bbd819ba68ec72ffaab4421d18ab883f5b5c2f8",
  "0002-text": "8264f8fdfbb16bc77eafe965674fc5e0c6a25ed9b68ecbe08d622e5d30a2d85b",
  "0003-accounts": "ec16198e61cebe96d6b66d669bfce918d87ff0bd95409da22799e268cb527381",
  "0004-memories": "38620043cfe2e4b9016d37dc3b0528ed046613971b782d153551ed3ce551f9a1"
}'
);
end
$$;
