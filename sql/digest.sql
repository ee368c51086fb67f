-- Written by: python -m memstore.schema. A test holds it true.
do $$
begin
  perform memstore.record_deployment(
'566d40d214bf6316ce4a09073feeb50c4851d4e21a1e1ce147185482a04b859d',
'{
  "0001-deployment": "07c3569e605c6f0f6d7366868bbd819ba68ec72ffaab4421d18ab883f5b5c2f8",
  "0002-text": "8eb428e9a9c988ec13542765a138751889e1168e0b77e74ac82dbdf6bb11d24d",
  "0003-accounts": "a8d698f2c9572a4ca8b493f5318673350fd69991d7a3a88547a73e6ca65274af",
  "0004-memories": "38620043cfe2e4b9016d37dc3b0528ed046613971b782d153551ed3ce551f9a1",
  "0005-governance": "0ad37f73deb06636e343593322b0475426f2b9d8bead55a23f14e374655d65b0"
}'
);
end
$$;
