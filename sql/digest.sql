-- Written by: python -m memstore.schema. A test holds it true.
do $$
begin
  perform memstore.record_deployment(
'ba4dab541b0479dbe33ae68a55d72d94eeb81dae929ec2b5ee517716dd254950',
'{
  "0001-deployment": "07c3569e605c6f0f6d7366868bbd819ba68ec72ffaab4421d18ab883f5b5c2f8",
  "0002-text": "8eb428e9a9c988ec13542765a138751889e1168e0b77e74ac82dbdf6bb11d24d",
  "0003-accounts": "95fac0cc3c16e8cbf27d82fa747e4f27e68df36f5cef9615c1b72824515880f7",
  "0004-memories": "38620043cfe2e4b9016d37dc3b0528ed046613971b782d153551ed3ce551f9a1",
  "0005-governance": "0ad37f73deb06636e343593322b0475426f2b9d8bead55a23f14e374655d65b0",
  "0006-admitted-claims": "8bd9e97487f15f786efb949bfaf6f296d69ed4336e483fd4a9a3bad33277ffd3",
  "0007-cheaper-writes": "9fb1a4d3c7b6db31d78537e7718bb0d0a8d1ef2af48bf1e47648a5a591a2bf25"
}'
);
end
$$;
