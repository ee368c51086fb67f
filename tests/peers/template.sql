-- In the database from which the suites make theirs: what they read and change of their own table, as a view.
create view public.store as
select array_to_string(i.namespace, '.') as prefix, i.key, i.expires_at, i.updated_at
from memstore.items i;

create rule change as on update to public.store do instead
update memstore.items i
set expires_at = new.expires_at, updated_at = new.updated_at, inserted_at = least(i.inserted_at, new.updated_at)
where array_to_string(i.namespace, '.') = old.prefix
and i.key = old.key;
