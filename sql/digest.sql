-- Written by: python -m memstore.schema. A test holds it true.
do $$
begin
  perform memstore.record_deployment(
'60ae07d0a4ddbb2280ced897b6c90c0a6d2a68a531a4e83698cb97a4c93f32f9',
'{
  "0001-deployment": "07c3569e605c6f0f6d7366868bbd819ba68ec72ffaab4421d18ab883f5b5c2f8",
  "0002-text": "8264f8fdfbb16bc77eafe965674fc5e0c6a25ed9b68ecbe08d622e5d30a2d85b",
  "0003-accounts": "ec16198e61cebe96d6b66d669bfce918d87ff0bd95409da22799e268cb527381",
  "0004-memories": "2687546b5145d3e01f9e35af0f5d17ac22db55b3f869e6e12beebdda8b83aa20"
}'
);
end
$$;
