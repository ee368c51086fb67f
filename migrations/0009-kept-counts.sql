-- What: an account keeps the counts that recall reads (users.candidates); the rules that cost a write most are functions,
-- which PostgreSQL prepares once a session instead of once a statement; ASCII texts get their lexemes from the server's
-- parser, through text search configurations of our own. What is refused and which lexemes a text has stay as they were.
-- Why: recall counted an account's memories in each turn, and one row cost ten times what it costs in a bare table.
-- Locks: users and memories, against reads and writes, while memories is read twice: to count, and to check the rules.
-- Clients: earlier ones keep working.

lock table memstore.users, memstore.memories in access exclusive mode;

alter table memstore.users add column candidates jsonb not null default '{}';
alter table memstore.users alter column candidates set statistics 0;

comment on column memstore.users.candidates is
  'How many memories a recall can attach: by language, of all and of the bucket user; kept by triggers.';

update memstore.users u
set candidates = c.candidates
from (
  select l.user_id, jsonb_object_agg(l.language, jsonb_build_array(l.memories, l.of_user)) as candidates
  from (
    select m.user_id, m.language, count(*) as memories, count(*) filter (where m.bucket = 'user') as of_user
    from memstore.memories m
    where m.superseded_at is null
    and m.bucket <> 'system'
    group by m.user_id, m.language
  ) l
  group by l.user_id
) c
where u.id = c.user_id;

-- The trigger that keeps them, as the code layer has it: between this migration and the code layer others may write.
create or replace function memstore.add_candidates(candidates jsonb, language text, memories bigint, of_user bigint)
returns jsonb
language plpgsql
immutable parallel safe
security invoker
as $$
begin
  memories := memories + coalesce((candidates -> language ->> 0)::bigint, 0);
  return case
    when memories = 0 then candidates - language
    else candidates || jsonb_build_object(
      language, jsonb_build_array(memories, of_user + coalesce((candidates -> language ->> 1)::bigint, 0))
    )
  end;
end
$$;

revoke all on function memstore.add_candidates(jsonb, text, bigint, bigint) from public;

create or replace function memstore.count_live_memories()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_accounts uuid[];
  v_languages text[];
  v_live bigint[];
  v_memories bigint[];
  v_of_user bigint[];
  v_over boolean := false;
  v_is_over boolean;
  v_room text;
begin
  if tg_op = 'INSERT' then
    select array_agg(c.user_id), array_agg(c.language), array_agg(c.live), array_agg(c.memories), array_agg(c.of_user)
    into v_accounts, v_languages, v_live, v_memories, v_of_user
    from (
      select
        n.user_id,
        n.language,
        count(*) as live,
        count(*) filter (where n.bucket <> 'system') as memories,
        count(*) filter (where n.bucket = 'user') as of_user
      from new_memories n
      where n.superseded_at is null
      and not n.promoted
      group by n.user_id, n.language
    ) c;
  elsif tg_op = 'DELETE' then
    select array_agg(c.user_id), array_agg(c.language), array_agg(-c.live), array_agg(-c.memories), array_agg(-c.of_user)
    into v_accounts, v_languages, v_live, v_memories, v_of_user
    from (
      select
        o.user_id,
        o.language,
        count(*) as live,
        count(*) filter (where o.bucket <> 'system') as memories,
        count(*) filter (where o.bucket = 'user') as of_user
      from old_memories o
      where o.superseded_at is null
      and not o.promoted
      group by o.user_id, o.language
    ) c;
  else
    select array_agg(c.user_id), array_agg(c.language), array_agg(-c.live), array_agg(-c.memories), array_agg(-c.of_user)
    into v_accounts, v_languages, v_live, v_memories, v_of_user
    from (
      select
        o.user_id,
        o.language,
        count(*) as live,
        count(*) filter (where o.bucket <> 'system') as memories,
        count(*) filter (where o.bucket = 'user') as of_user
      from old_memories o
      join new_memories n on n.id = o.id
      where o.superseded_at is null
      and not o.promoted
      and n.superseded_at is not null
      group by o.user_id, o.language
    ) c;
  end if;

  if v_accounts is null then
    return null;
  end if;
  if cardinality(v_accounts) > 1 then
    perform 1
    from memstore.users u
    where u.id = any (v_accounts)
    order by u.id
    for no key update;
  end if;

  for i in 1 .. cardinality(v_accounts) loop
    update memstore.users u
    set
      live_memories = u.live_memories + v_live[i],
      candidates = memstore.add_candidates(u.candidates, v_languages[i], v_memories[i], v_of_user[i])
    where u.id = v_accounts[i]
    returning u.live_memories > u.maximum_live_memories
    into v_is_over;
    if v_is_over then
      v_over := true;
    end if;
  end loop;
  if tg_op <> 'INSERT' or not v_over then
    return null;
  end if;

  -- At or above the ceiling an account may still correct: a row that one of its own points at adds nothing,
  -- unless that one came in the same statement.
  select
    array_agg(o.id),
    string_agg(format('Only %s of %s fit', greatest(o.added - o.over, 0), o.added), ', ') filter (where o.added > 1)
  into v_accounts, v_room
  from (
    select u.id, u.live_memories - u.maximum_live_memories as over, sum(a.live) as added
    from unnest(v_accounts, v_live) a (id, live)
    join memstore.users u on u.id = a.id
    where u.live_memories > u.maximum_live_memories
    group by u.id
  ) o;
  if exists (
    select
    from new_memories n
    where n.user_id = any (v_accounts)
    and n.superseded_at is null
    and not n.promoted
    and not exists (
      select
      from memstore.memories o
      where o.superseded_by_id = n.id
      and o.user_id = n.user_id
      and not o.promoted
      and not exists (select from new_memories d where d.id = o.id)
    )
  ) then
    perform memstore.refuse('quota_reached', 'actor', v_room);
  end if;
  return null;
end
$$;

revoke all on function memstore.count_live_memories() from public;

-- What the rules call. A rule is read and planned for each statement that writes a row, a function once a session. They
-- run under the search path of the writing session, so they name their operators.
create or replace function memstore.trim_text(content text)
returns text
language plpgsql
immutable strict parallel safe
as $$
begin
  return pg_catalog.btrim(
    trim_text.content,
    E'\u0009\u000a\u000b\u000c\u000d\u0020\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005'
    '\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000'
  );
end
$$;

create function memstore.is_language(content text)
returns boolean
language plpgsql
immutable parallel safe
as $$
begin
  return content is not null
    and content operator(pg_catalog.=) any (
      '{simple,arabic,armenian,basque,catalan,danish,dutch,english,finnish,french,german,greek,hindi,hungarian,'
      'indonesian,irish,italian,lithuanian,nepali,norwegian,portuguese,romanian,russian,serbian,spanish,swedish,tamil,'
      'turkish,yiddish}'::pg_catalog.text[]
    );
end
$$;

create function memstore.is_short(content text)
returns boolean
language plpgsql
immutable parallel safe
as $$
begin
  return content is not null
    and pg_catalog.char_length(content) operator(pg_catalog.>=) 1
    and pg_catalog.char_length(content) operator(pg_catalog.<=) 200;
end
$$;

create function memstore.body_is_valid(body text, stance text)
returns boolean
language plpgsql
immutable parallel safe
as $$
begin
  return body is not null
    and pg_catalog.char_length(body) operator(pg_catalog.<=) 2000
    and memstore.trim_text(body) operator(pg_catalog.<>) ''
    and (stance is null or pg_catalog.strpos(body, stance) operator(pg_catalog.>) 0);
end
$$;

create function memstore.embedding_is_valid(embedding real[])
returns boolean
language plpgsql
immutable parallel safe
as $$
begin
  -- A comparison with all is NULL where an element is.
  return embedding is not null
    and pg_catalog.array_ndims(embedding) operator(pg_catalog.=) 1
    and pg_catalog.cardinality(embedding) operator(pg_catalog.<=) 16000
    and ('1e6'::real operator(pg_catalog.>=) all (embedding)) is true
    and '-1e6'::real operator(pg_catalog.<=) all (embedding)
    and (
      '1e-6'::real operator(pg_catalog.<=) any (embedding)
      or '-1e-6'::real operator(pg_catalog.>=) any (embedding)
    );
end
$$;

create function memstore.slug_is_valid(slug text)
returns boolean
language plpgsql
immutable parallel safe
as $$
begin
  return slug is not null
    and pg_catalog.char_length(slug) operator(pg_catalog.<=) 200
    and pg_catalog.starts_with(slug, 'sys:')
    and memstore.trim_text(pg_catalog.substr(slug, 5)) operator(pg_catalog.<>) '';
end
$$;

create function memstore.stance_is_valid(stance text)
returns boolean
language plpgsql
immutable parallel safe
as $$
begin
  return memstore.is_short(stance) and stance operator(pg_catalog.~) '^[a-z0-9]+(-[a-z0-9]+)*$';
end
$$;

comment on function memstore.is_language(text) is 'Whether this is one of the 29 text search configurations that PostgreSQL 15 has.';
comment on function memstore.is_short(text) is 'Whether a text has 1 to 200 characters.';
comment on function memstore.body_is_valid(text, text) is 'Whether this is a body of 1 to 2,000 characters, not blank, with its stance.';
comment on function memstore.embedding_is_valid(real[]) is 'Whether this is a flat array of 1 to 16,000 numbers, none beyond 1e6 in magnitude and one of at least 1e-6.';
comment on function memstore.slug_is_valid(text) is 'Whether this is sys: and something behind it, 200 characters at most.';
comment on function memstore.stance_is_valid(text) is 'Whether this has 1 to 200 characters, lowercase words joined by single hyphens.';

-- The comments of the rules are what a refusal says: they stay.
do $$
declare
  v_table text;
  v_rules text;
  v_comments text;
begin
  foreach v_table in array array['users', 'memories'] loop
    select
      string_agg(format('drop constraint %1$I, add constraint %1$I check (%2$s)', r.name, r.definition), ', ' order by r.name),
      string_agg(
        format('comment on constraint %I on memstore.%I is %L', r.name, v_table, obj_description(c.oid, 'pg_constraint')),
        '; '
      )
    into v_rules, v_comments
    from (
      values
        -- The triggers that count run under another search path than the writing session; a function that both call would be
        -- planned again each time.
        (
          'users_language_shape',
          'case language when ''english'' then true else memstore.is_language(language) end'
        ),
        ('users_external_ref_shape', 'external_ref is null or memstore.is_short(external_ref)'),
        ('memories_bucket_shape', 'bucket is not null and bucket = any (''{user,learned,system}''::text[])'),
        ('memories_body_shape', 'memstore.body_is_valid(body, stance)'),
        ('memories_source_ref_shape', 'source_ref is null or memstore.is_short(source_ref)'),
        ('memories_language_shape', 'memstore.is_language(language)'),
        (
          'memories_embedding_shape',
          'case when embedding is null then embedding_model is null else memstore.embedding_is_valid(embedding) end'
        ),
        (
          'memories_embedding_model_shape',
          'case when embedding_model is null then embedding is null else memstore.is_short(embedding_model) end'
        ),
        (
          'memories_slug_shape',
          'case bucket when ''system'' then memstore.slug_is_valid(slug) else slug is null end'
        ),
        (
          'memories_entity_shape',
          'case bucket when ''system'' then entity is null or memstore.is_short(entity) else entity is null end'
        ),
        (
          'memories_tier_shape',
          'case bucket when ''system'' then tier is not null and tier = any (''{ledger,glass}''::text[]) '
          'else tier is null end'
        ),
        (
          'memories_admission_shape',
          'case bucket when ''system'' then admission is not null '
          'and admission = any (''{candidate,admitted,rejected}''::text[]) else admission is null end'
        ),
        (
          'memories_stance_shape',
          'case bucket when ''system'' then stance is null or memstore.stance_is_valid(stance) else stance is null end'
        )
    ) r (name, definition)
    join pg_catalog.pg_constraint c on c.conname = r.name
    where c.conrelid = format('memstore.%I', v_table)::regclass;
    execute format('alter table memstore.%I %s', v_table, v_rules);
    execute v_comments;
  end loop;
end
$$;

-- The lexemes of an ASCII text, by the server's parser: each kind of token that it makes of letters and digits goes through
-- the language's one dictionary.
do $$
declare
  v_language text;
begin
  foreach v_language in array memstore.languages() loop
    execute format('create text search configuration memstore.%I (parser = pg_catalog."default")', v_language);
    execute format(
      'alter text search configuration memstore.%I add mapping for asciiword, numword, int, uint, float, sfloat '
      'with pg_catalog.%I',
      v_language,
      case
        when v_language = 'simple' then 'simple'
        when v_language in ('arabic', 'armenian', 'greek', 'hindi', 'nepali', 'russian', 'tamil', 'yiddish')
          then 'english_stem'
        else v_language || '_stem'
      end
    );
  end loop;
end
$$;

-- lexemes() stays, for queries, whose lexemes have an order. What search_vector calls is another function from here on,
-- with the same lexemes.
do $$
declare
  v_lexemes text := (
    select p.prosrc
    from pg_catalog.pg_proc p
    where p.oid = 'memstore.lexemes(text, text)'::regprocedure
  );
begin
  alter function memstore.lexemes(text, text) rename to lexeme_set;
  execute format(
    $f$
create function memstore.lexemes(language text, content text)
returns text[]
language plpgsql
immutable strict parallel safe
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as %L
$f$,
    v_lexemes
  );
end
$$;

create or replace function memstore.lexeme_set(language text, content text)
returns text[]
language plpgsql
immutable strict parallel safe
as $$
begin
  -- The parser divides 1e5e, which is one word here.
  if pg_catalog.octet_length(content) operator(pg_catalog.=) pg_catalog.char_length(content)
    and pg_catalog.octet_length(content) operator(pg_catalog.<=) 2000
    and content operator(pg_catalog.!~) '[0-9][eE][0-9]'
    and memstore.is_language(language)
  then
    return pg_catalog.tsvector_to_array(
      pg_catalog.to_tsvector(
        ('memstore.' operator(pg_catalog.||) language)::pg_catalog.regconfig,
        pg_catalog.regexp_replace(pg_catalog.lower(content collate pg_catalog."C"), '[^a-z0-9 ]+', ' ', 'g')
      )
    );
  end if;
  return memstore.lexemes(language, content);
end
$$;

comment on function memstore.lexemes(text, text) is 'The distinct lexemes of a text, folded and stemmed for a language, in the order of their first occurrence.';
comment on function memstore.lexeme_set(text, text) is 'The distinct lexemes of a text, folded and stemmed for a language, in no order: what search_vector has.';

revoke all on function
  memstore.lexemes(text, text),
  memstore.is_language(text),
  memstore.is_short(text),
  memstore.body_is_valid(text, text),
  memstore.embedding_is_valid(real[]),
  memstore.slug_is_valid(text),
  memstore.stance_is_valid(text)
from public;

-- What rules and search_vector call stays when the code layer goes.
create or replace function memstore.drop_code()
returns void
language plpgsql
volatile
security invoker
set search_path = pg_catalog, pg_temp
as $$
declare
  v_statement text;
begin
  for v_statement in
    select format('drop trigger %I on %s', t.tgname, t.tgrelid::regclass)
    from pg_trigger t
    join pg_class c on c.oid = t.tgrelid
    where c.relnamespace = 'memstore'::regnamespace
    and not t.tgisinternal
  loop
    execute v_statement;
  end loop;
  for v_statement in
    select format('drop view %s', string_agg(c.oid::regclass::text, ', '))
    from pg_class c
    where c.relnamespace = 'memstore'::regnamespace
    and c.relkind = 'v'
    having count(*) > 0
  loop
    execute v_statement;
  end loop;
  -- A function that a constraint or a generated column uses came with a migration, and stays.
  for v_statement in
    select format('drop routine %s', string_agg(p.oid::regprocedure::text, ', '))
    from pg_proc p
    where p.pronamespace = 'memstore'::regnamespace
    and p.proname not in (
      'drop_code', 'languages', 'trim_text', 'lexemes', 'lexeme_set', 'evidence_is_valid', 'is_language', 'is_short',
      'body_is_valid', 'embedding_is_valid', 'slug_is_valid', 'stance_is_valid'
    )
    having count(*) > 0
  loop
    execute v_statement;
  end loop;
  delete from memstore.deployment where name = 'sql';
end
$$;

insert into memstore.deployment (name) values ('0009-kept-counts');
