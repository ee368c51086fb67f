create or replace function memstore.verify_store()
returns table (invariant text, violations bigint, example text)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
verify_store: checks the store's data against its rules.

Example:
  select invariant, violations from memstore.verify_store() where invariant like 'chain%';
Result:
  chain_targets|0
  chain_times|0
  chain_order|0
  chain_loops|0
  chain_borders|0

Operator only. One row for each invariant: how many rows break it, and the id of one of them; no text is shown. It
reads the whole store in one snapshot, changes nothing, and takes a while for a large one. Constraints and triggers
hold all of this: a violation means a damaged disk, a superuser who disabled them, or a bug.

select * from memstore.altered_objects() names each object that a violation of guards is about. Who can alter these can
alter the list that they are compared with, too; memstore verify compares with the list of its package.

Invariants
  users_rules, settings_rules, embedding_models_rules, memories_rules, memory_admissions_rules,
  claim_counter_rules, deployment_rules, account_roles_rules, items_rules, item_embeddings_rules,
  api_roles_rules, tokens_rules
                     each row obeys the rules of its table
  single_rows        settings and claim_counter have one row each
  live_memories      an account's count of live memories is that of its rows
  candidates         an account's counts of what recall can attach are those of its rows
  stored_items       an account's count of items is that of its rows
  twins              an account with two live memories of one body says so (users.has_twins)
  erased_accounts    an erased account has no memories, items or tokens, and no texts in its records
  owners             the account of each memory and item exists
  chain_targets      the replacement of a memory exists
  chain_times        a memory that has a replacement has the time of it
  chain_order        a replacement is itself replaced later
  chain_loops        no memory is replaced by way of itself
  chain_borders      a replacement is of the same account, or both are in the system bucket
  search_vectors     the lexemes of a memory are those of its body, of an item those of its strings
  item_versions      no two items have one version, and none has one that is still to come
  tombstones         a memory is a tombstone if it has a stance
  model_names        the model of each embedding is known
  model_dimensions   each embedding has its model's number of dimensions
  record_targets     a record is about a claim that exists
  record_authors     a record's account exists
  record_slugs       a record's generated columns are those of its fields
  refutations        a refutation names a challenge of the same claim
  claim_statuses     the stored statuses are those that the records give
  open_challenges    the stored open challenges, and which suspend, are those that the records give
  challenge_limit    no account has more open challenges than it may
  token_limit        no account has more live tokens of a kind than it may
  claim_counter      the stored number of admitted claims is that of the records
  admitted_claims    what system recall reads are the live claims whose status is admitted
  claim_languages    the stored numbers of claims by language are theirs
  claim_words        the stored numbers of claims by lexeme are theirs
  claim_signs        the stored signs of their embeddings are theirs
  bound_roles        each bound role exists, and reaches no account but its own
  guards             tables, rules, triggers, functions and policies are as this version makes them
Returns
  of each invariant its name, the number of violations, and the id of one of them (of a guard its name)
Errors
  none
*/
begin
  return query
  with recursive
  pointers as (
    select m.id, t.id as target, m.superseded_at, m.user_id, m.bucket, t.superseded_at as target_superseded_at,
      t.user_id as target_user_id, t.bucket as target_bucket
    from memstore.memories m
    left join memstore.memories t on t.id = m.superseded_by_id
    where m.superseded_by_id is not null
  ),
  -- A loop has a pointer along which superseded_at doesn't increase: only such pointers are followed.
  walks as (
    select p.id as start, p.target as reached
    from pointers p
    where p.superseded_at is null
    or p.target_superseded_at <= p.superseded_at
    union
    select w.start, m.superseded_by_id
    from walks w
    join memstore.memories m on m.id = w.reached
    where m.superseded_by_id is not null
  ),
  verdicts as materialized (
    select v.memory_id, v.verdict
    from memstore.derive_verdicts() v
  ),
  statuses as (
    select v.memory_id, v.verdict, d.status
    from verdicts v
    join memstore.derive_statuses() d on d.memory_id = v.memory_id
  ),
  admitted as (
    select m.id, m.user_id, m.language, m.inserted_at, m.search_vector
    from memstore.memories m
    join statuses s on s.memory_id = m.id
    where s.status = 'admitted'
    and m.superseded_at is null
  ),
  broken (invariant, id) as (
    select 'users_rules', u.id::text
    from memstore.users u
    where not memstore.users_obey(u)

    union all
    select 'settings_rules', 'settings'
    from memstore.settings s
    where not memstore.settings_obey(s)

    union all
    -- Not the model's name: no text is shown.
    select 'embedding_models_rules', 'embedding_models'
    from memstore.embedding_models e
    where not memstore.embedding_models_obey(e)

    union all
    select 'memories_rules', m.id::text
    from memstore.memories m
    where not memstore.memories_obey(m)

    union all
    select 'memory_admissions_rules', r.id::text
    from memstore.memory_admissions r
    where not memstore.memory_admissions_obey(r)

    union all
    select 'claim_counter_rules', 'claim_counter'
    from memstore.claim_counter c
    where not memstore.claim_counter_obey(c)

    union all
    select 'deployment_rules', 'deployment'
    from memstore.deployment d
    where not memstore.deployment_obey(d)

    union all
    select 'account_roles_rules', 'account_roles'
    from memstore.account_roles a
    where not memstore.account_roles_obey(a)

    union all
    select 'api_roles_rules', 'api_roles'
    from memstore.api_roles k
    where not memstore.api_roles_obey(k)

    union all
    select 'items_rules', i.id::text
    from memstore.items i
    where not memstore.items_obey(i)

    union all
    select 'item_embeddings_rules', e.item_id::text
    from memstore.item_embeddings e
    where not memstore.item_embeddings_obey(e)

    union all
    select 'tokens_rules', t.id::text
    from memstore.tokens t
    where not memstore.tokens_obey(t)

    union all
    select 'single_rows', n.name
    from (
      select 'settings', count(*) from memstore.settings
      union all
      select 'claim_counter', count(*) from memstore.claim_counter
    ) n (name, number)
    where n.number <> 1

    union all
    select 'live_memories', u.id::text
    from memstore.users u
    left join (
      select m.user_id, count(*) as number
      from memstore.memories m
      where m.superseded_at is null
      and m.stance is null
      group by m.user_id
    ) l on l.user_id = u.id
    where u.live_memories is distinct from coalesce(l.number, 0)

    union all
    select 'candidates', u.id::text
    from memstore.users u
    left join (
      select l.user_id, jsonb_object_agg(l.language, jsonb_build_array(l.memories, l.of_user)) as candidates
      from (
        select m.user_id, m.language, count(*) as memories, count(*) filter (where m.bucket = 'user') as of_user
        from memstore.memories m
        where m.superseded_at is null
        and m.bucket in ('user', 'learned')
        group by m.user_id, m.language
      ) l
      group by l.user_id
    ) c on c.user_id = u.id
    where u.candidates is distinct from coalesce(c.candidates, '{}')

    union all
    select 'stored_items', u.id::text
    from memstore.users u
    left join (
      select i.user_id, count(*) as number
      from memstore.items i
      group by i.user_id
    ) c on c.user_id = u.id
    where u.stored_items is distinct from coalesce(c.number, 0)

    union all
    select distinct 'twins', u.id::text
    from memstore.users u
    join memstore.memories m on m.user_id = u.id
    where u.has_twins is false
    and m.superseded_at is null
    and m.bucket in ('user', 'learned')
    group by u.id, m.body
    having count(*) > 1

    union all
    select 'erased_accounts', u.id::text
    from memstore.users u
    where u.erased_at is not null
    and (
      exists (select from memstore.memories m where m.user_id = u.id)
      or exists (select from memstore.items i where i.user_id = u.id)
      or exists (select from memstore.tokens t where t.user_id = u.id)
      or exists (
        select
        from memstore.memory_admissions r
        where r.user_id = u.id
        and (r.ground <> '[erased]' or r.evidence_refs is distinct from memstore.erase_evidence(r.evidence_refs))
      )
    )

    union all
    select 'owners', m.id::text
    from memstore.memories m
    where not exists (select from memstore.users u where u.id = m.user_id)

    union all
    select 'owners', i.id::text
    from memstore.items i
    where not exists (select from memstore.users u where u.id = i.user_id)

    union all
    select 'chain_targets', p.id::text
    from pointers p
    where p.target is null

    union all
    select 'chain_times', p.id::text
    from pointers p
    where p.superseded_at is null

    union all
    select 'chain_order', p.id::text
    from pointers p
    where p.target_superseded_at <= p.superseded_at

    union all
    select 'chain_loops', w.start::text
    from walks w
    where w.reached = w.start

    union all
    select 'chain_borders', p.id::text
    from pointers p
    where (p.bucket = 'system') <> (p.target_bucket = 'system')
    or p.bucket <> 'system' and p.user_id <> p.target_user_id

    union all
    select 'search_vectors', m.id::text
    from memstore.memories m
    where m.search_vector is distinct from array_to_tsvector(memstore.lexemes(m.language, m.body))

    union all
    select 'search_vectors', i.id::text
    from memstore.items i
    where i.search_vector is distinct from case
      when i.indexed then array_to_tsvector(memstore.lexemes(i.language, memstore.item_text(i.value)))
    end

    union all
    select 'item_versions', min(i.id::text)
    from memstore.items i
    group by i.version
    having count(*) > 1
    or i.version > (select s.last_value from memstore.item_versions s)

    union all
    select 'tombstones', m.id::text
    from memstore.memories m
    where m.promoted is distinct from (m.stance is not null)

    union all
    select 'model_names', m.id::text
    from memstore.memories m
    where m.embedding_model is not null
    and not exists (select from memstore.embedding_models e where e.name = m.embedding_model)

    union all
    select 'model_names', i.item_id::text
    from memstore.item_embeddings i
    where not exists (select from memstore.embedding_models e where e.name = i.embedding_model)

    union all
    select 'model_dimensions', m.id::text
    from memstore.memories m
    join memstore.embedding_models e on e.name = m.embedding_model
    where cardinality(m.embedding) is distinct from e.dimensions

    union all
    select 'model_dimensions', i.item_id::text
    from memstore.item_embeddings i
    join memstore.embedding_models e on e.name = i.embedding_model
    where cardinality(i.embedding) is distinct from e.dimensions

    union all
    select 'record_targets', r.id::text
    from memstore.memory_admissions r
    where not exists (
      select
      from memstore.memories m
      where m.id = r.memory_id
      and m.bucket = 'system'
      and m.stance is null
    )

    union all
    select 'record_authors', r.id::text
    from memstore.memory_admissions r
    where not exists (select from memstore.users u where u.id = r.user_id)

    union all
    select 'record_slugs', r.id::text
    from memstore.memory_admissions r
    where row(r.slug, r.memory_bucket, r.memory_promoted, r.challenge_role) is distinct from row(
      case r.role
        when 'admission' then 'adm:' || r.memory_id::text
        when 'challenge' then 'chl:' || r.memory_id::text
        when 'refutation' then 'ref:' || r.challenge_id::text
      end,
      'system',
      false,
      'challenge'
    )

    union all
    select 'refutations', r.id::text
    from memstore.memory_admissions r
    where r.challenge_id is not null
    and not exists (
      select
      from memstore.memory_admissions c
      where c.id = r.challenge_id
      and c.memory_id = r.memory_id
      and c.role = 'challenge'
    )

    union all
    select 'claim_statuses', coalesce(k.memory_id, s.memory_id)::text
    from memstore.claim_statuses k
    full join statuses s on s.memory_id = k.memory_id
    where row(k.memory_id, k.verdict, k.status) is distinct from row(s.memory_id, s.verdict, s.status)

    union all
    select 'open_challenges', coalesce(o.challenge_id, c.challenge_id)::text
    from memstore.open_challenges o
    full join memstore.derive_challenges() c on c.challenge_id = o.challenge_id
    where row(o.challenge_id, o.memory_id, o.user_id, o.inserted_at, o.evidenced, o.effective) is distinct from
      row(c.challenge_id, c.memory_id, c.user_id, c.inserted_at, c.evidenced, c.effective)

    union all
    select 'challenge_limit', c.user_id::text
    from memstore.derive_challenges() c
    group by c.user_id
    having count(*) > memstore.maximum_open_challenges()

    union all
    select 'token_limit', t.user_id::text
    from memstore.tokens t
    where t.revoked_at is null
    and t.expires_at > clock_timestamp()
    group by t.user_id, t.kind
    having count(*) > memstore.maximum_tokens()

    union all
    select 'claim_counter', 'claim_counter'
    from memstore.claim_counter c
    where c.admitted <> (select count(*) from verdicts v where v.verdict = 'admitted')

    union all
    select 'admitted_claims', coalesce(k.memory_id, a.id)::text
    from memstore.admitted_claims k
    full join admitted a on a.id = k.memory_id
    where row(k.memory_id, k.user_id, k.language, k.inserted_at, k.search_vector)
      is distinct from row(a.id, a.user_id, a.language, a.inserted_at, a.search_vector)

    union all
    select 'claim_languages', coalesce(k.language, a.language)
    from memstore.claim_languages k
    full join (
      select a.language, count(*) as claims
      from admitted a
      group by a.language
    ) a on a.language = k.language
    where k.claims is distinct from a.claims

    union all
    -- Not the lexeme: no text is shown.
    select 'claim_words', coalesce(k.language, a.language)
    from memstore.claim_words k
    full join (
      select a.language, w.lexeme, count(*) as claims
      from admitted a
      cross join unnest(tsvector_to_array(a.search_vector)) w (lexeme)
      group by a.language, w.lexeme
    ) a on a.language = k.language and a.lexeme = k.lexeme
    where k.claims is distinct from a.claims

    union all
    select 'claim_signs', coalesce(k.memory_id, a.id)::text
    from memstore.claim_signs k
    full join (
      select m.id, m.user_id, m.inserted_at, m.embedding_model, memstore.sign_bits(m.embedding) as signs
      from admitted a
      join memstore.memories m on m.id = a.id
      where m.embedding_model is not null
    ) a on a.id = k.memory_id
    where row(k.memory_id, k.user_id, k.inserted_at, k.embedding_model, k.signs)
      is distinct from row(a.id, a.user_id, a.inserted_at, a.embedding_model, a.signs)

    union all
    select distinct 'bound_roles', a.role::text
    from memstore.account_roles a
    where not exists (select from pg_roles r where r.rolname = a.role)

    union all
    select distinct 'bound_roles', b.role::text
    from memstore.reach_beyond(array(select a.role from memstore.account_roles a)) b

    union all
    select 'guards', concat_ws(' ', a.state, a.kind, a.name)
    from memstore.altered_objects() a
  )
  select i.name, count(b.id), min(b.id)
  from unnest(array[
    'users_rules', 'settings_rules', 'embedding_models_rules', 'memories_rules', 'memory_admissions_rules',
    'claim_counter_rules', 'deployment_rules', 'account_roles_rules', 'items_rules', 'item_embeddings_rules',
    'api_roles_rules', 'tokens_rules', 'single_rows', 'live_memories', 'candidates', 'stored_items', 'twins',
    'erased_accounts', 'owners', 'chain_targets', 'chain_times', 'chain_order', 'chain_loops', 'chain_borders',
    'search_vectors', 'item_versions', 'tombstones',
    'model_names', 'model_dimensions', 'record_targets', 'record_authors', 'record_slugs', 'refutations',
    'claim_statuses', 'open_challenges', 'challenge_limit', 'token_limit', 'claim_counter', 'admitted_claims',
    'claim_languages',
    'claim_words', 'claim_signs', 'bound_roles', 'guards'
  ]) with ordinality i (name, position)
  left join broken b on b.invariant = i.name
  group by i.name, i.position
  order by i.position;
end
$$;
