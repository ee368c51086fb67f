-- Written by: python -m memstore.schema. A test holds it true.
do $$
begin
  perform memstore.record_deployment(
'0bf2308784cc31356b18a232b967eeaf92eb74eb24c6dbf37f226436b1e34c4e',
'{
  "0001-deployment": "07c3569e605c6f0f6d7366868bbd819ba68ec72ffaab4421d18ab883f5b5c2f8",
  "0002-text": "1e2342799e8734c6fad8128c6bb902aad24c8a3b772e5df4780707075b6fabb2",
  "0003-accounts": "df12586da85cd22335cefb7d9fd257d9b6dc80a93c1a821fc774e224062ce548",
  "0004-memories": "38620043cfe2e4b9016d37dc3b0528ed046613971b782d153551ed3ce551f9a1",
  "0005-governance": "054f9d9fa111e99299c90b44835ebda4ba0b47cd0399f117a838cc94cae1f0fa"
}'
);
end
$$;
