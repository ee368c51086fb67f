-- What the schema consists of, by name, each with a digest of its definition. altered_objects() compares it with the list
-- that a version ships; memstore verify runs this body as its package has it, so it reads system catalogs and the two
-- single rows alone, and calls nothing that the schema's owner can replace.
--
-- Left out is what the operator may decide: settings, grants to roles, storage parameters, statistics targets above 0,
-- members of an extension. A definition is what PostgreSQL prints, the same from 15 to 18, installed or restored:
-- pretty-printed, since a restore doesn't keep how AND and OR are nested.
create or replace function memstore.objects()
returns table (kind text, name text, digest text)
language sql
stable
security invoker
set search_path = pg_catalog, pg_temp
set quote_all_identifiers = off
set standard_conforming_strings = on
set datestyle = 'ISO'
set timezone = 'UTC'
set intervalstyle = 'iso_8601'
set extra_float_digits = 1
set jit = off
as $$
  with schema as (
    select n.oid, n.nspowner, n.nspacl
    from pg_namespace n
    where n.nspname = 'memstore'
  ),
  relations as (
    select c.*, c.relowner = n.nspowner as owned
    from pg_class c
    join schema n on n.oid = c.relnamespace
    where not exists (
      select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e'
    )
  ),
  functions as (
    select p.*, p.oid::regprocedure::text as signature, p.proowner = n.nspowner as owned
    from pg_proc p
    join schema n on n.oid = p.pronamespace
    where not exists (
      select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
    )
  ),
  objects (kind, name, definition) as (
    select 'function', replace(p.signature, 'memstore.', ''), jsonb_build_array(
      p.owned,
      -- Compiled for pgvector, in whichever schema that is.
      case
        when v.schema is not null and p.proname in (
          'item_similarities', 'nearest_claims', 'score_all_memories', 'score_memories', 'similarities'
        ) then
          replace(
            replace(
              replace(pg_get_functiondef(p.oid), quote_literal(v.schema || '.vector'), quote_literal('vector')),
              v.schema || '.vector',
              'vector'
            ),
            'operator(' || v.schema || '.',
            'operator('
          )
        when p.prokind in ('f', 'p') then pg_get_functiondef(p.oid)
      end
    )
    from functions p
    left join (
      select quote_ident(n.nspname) as schema
      from pg_extension e
      join pg_namespace n on n.oid = e.extnamespace
      where e.extname = 'vector'
    ) v on true
    -- It can't have its own digest.
    where p.signature <> 'memstore.expected_objects()'

    union all
    select 'table', c.relname, jsonb_build_array(
      c.owned,
      c.relkind,
      c.relpersistence,
      c.relrowsecurity,
      c.relforcerowsecurity,
      c.reloftype <> 0,
      (select count(*) from pg_inherits i where c.oid in (i.inhrelid, i.inhparent))
    )
    from relations c
    where c.relkind in ('r', 'p', 'f', 'm', 'S', 'c')

    union all
    select 'column', c.relname || '.' || a.attname, jsonb_build_array(
      format_type(a.atttypid, a.atttypmod),
      a.attnotnull and not exists (
        select
        from pg_constraint k
        where k.conrelid = c.oid
        and k.contype = 'n'
        and k.conkey[1] = a.attnum
        and not k.convalidated
      ),
      a.attidentity,
      a.attgenerated,
      (select l.collname from pg_collation l where l.oid = a.attcollation),
      pg_get_expr(d.adbin, d.adrelid, true),
      -- Statistics of texts would outlive an erasure.
      coalesce(a.attstattarget::integer, -1) = 0
    )
    from relations c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where c.relkind in ('r', 'p', 'f', 'c')

    union all
    select 'constraint', c.relname || '.' || k.conname, jsonb_build_array(
      pg_get_constraintdef(k.oid, true),
      -- What a refusal says.
      obj_description(k.oid, 'pg_constraint'),
      -- A foreign key's own triggers can be disabled, too.
      (
        select jsonb_agg(row(t.tgfoid::regproc, t.tgenabled)::text order by t.tgfoid::regproc::text)
        from pg_trigger t
        where t.tgconstraint = k.oid
        and t.tgisinternal
      )
    )
    from relations c
    join pg_constraint k on k.conrelid = c.oid
    where k.contype not in ('n', 't')

    union all
    select 'trigger', c.relname || '.' || t.tgname, jsonb_build_array(pg_get_triggerdef(t.oid, true), t.tgenabled)
    from relations c
    join pg_trigger t on t.tgrelid = c.oid
    where not t.tgisinternal

    union all
    select 'policy', c.relname || '.' || p.polname, jsonb_build_array(
      p.polcmd,
      p.polpermissive,
      p.polroles = '{0}',
      pg_get_expr(p.polqual, p.polrelid, true),
      pg_get_expr(p.polwithcheck, p.polrelid, true)
    )
    from relations c
    join pg_policy p on p.polrelid = c.oid

    union all
    select
      case
        when x.relname in ('memories_account_words_idx', 'memories_account_sources_idx') then 'optional_index'
        -- An index with an expression calls it in each write, and keeps statistics of it.
        when not i.indisunique and not i.indisexclusion and i.indexprs is null and i.indpred is null then 'plain_index'
        else 'index'
      end,
      x.relname,
      jsonb_build_array(
        -- Without its storage parameters.
        regexp_replace(pg_get_indexdef(x.oid, 0, true), ' WITH \([^()]*\)', ''),
        i.indisvalid and i.indisready and i.indislive,
        i.indimmediate
      )
    from relations c
    join pg_index i on i.indrelid = c.oid
    join pg_class x on x.oid = i.indexrelid
    where c.relkind in ('r', 'p', 'm')

    union all
    select 'rule', c.relname || '.' || r.rulename, jsonb_build_array(pg_get_ruledef(r.oid, true), r.ev_enabled)
    from relations c
    join pg_rewrite r on r.ev_class = c.oid
    where r.rulename <> '_RETURN'

    union all
    select 'view', c.relname, jsonb_build_array(
      c.owned,
      c.reloptions,
      -- Since PostgreSQL 16 the columns of a view of one table are printed without it. Only this view has one.
      case c.relname
        when 'refusals' then regexp_replace(pg_get_viewdef(c.oid, true), '\mr\.', '', 'g')
        else pg_get_viewdef(c.oid, true)
      end
    )
    from relations c
    where c.relkind = 'v'

    union all
    select 'configuration', c.cfgname, jsonb_build_array(
      c.cfgowner = n.nspowner,
      c.cfgparser::text,
      (
        select jsonb_agg(jsonb_build_array(m.maptokentype, m.mapseqno, m.mapdict::regdictionary) order by m.maptokentype, m.mapseqno)
        from pg_ts_config_map m
        where m.mapcfg = c.oid
      )
    )
    from pg_ts_config c
    join schema n on n.oid = c.cfgnamespace

    union all
    -- Of these there are none.
    select replace(o.type, ' ', '_'), o.identity, null
    from (
      select d.classid, d.objid
      from schema n
      join pg_depend d on d.refclassid = 'pg_namespace'::regclass and d.refobjid = n.oid
      where d.classid = any (
        '{pg_type,pg_operator,pg_opclass,pg_opfamily,pg_collation,pg_conversion,pg_ts_dict,pg_ts_parser,pg_ts_template}'
        ::regclass[]
      )
      union all
      -- They keep values, also of texts.
      select 'pg_statistic_ext'::regclass, s.oid
      from pg_statistic_ext s
      join relations c on c.oid = s.stxrelid
    ) d
    cross join pg_identify_object(d.classid, d.objid, 0) o
    where o.type <> 'composite type'
    and not exists (
      select from pg_depend e where e.classid = d.classid and e.objid = d.objid and e.deptype = 'e'
    )

    union all
    -- A cast of a row's type changes its JSON.
    select 'cast', format('%s as %s', c.castsource::regtype, c.casttarget::regtype), null
    from pg_cast c
    join pg_type t on t.oid in (c.castsource, c.casttarget)
    join schema n on n.oid = t.typnamespace
    where not exists (
      select from pg_depend e where e.classid = 'pg_cast'::regclass and e.objid = c.oid and e.deptype = 'e'
    )

    union all
    select 'privilege', format('%s of PUBLIC on %s', lower(x.privilege_type), a.name), null
    from (
      select 'the schema', n.nspacl, acldefault('n', n.nspowner) from schema n
      union all
      select 'what is created', d.defaclacl, null from pg_default_acl d join schema n on n.oid = d.defaclnamespace
      union all
      select c.relname, c.relacl, null
      from relations c
      where c.relkind in ('r', 'p', 'f', 'm', 'v', 'S')
      union all
      select c.relname || '.' || a.attname, a.attacl, null
      from relations c
      join pg_attribute a on a.attrelid = c.oid
      where a.attacl is not null
      union all
      select replace(p.signature, 'memstore.', ''), p.proacl, acldefault('f', p.proowner) from functions p
    ) a (name, acl, usual)
    cross join aclexplode(coalesce(a.acl, a.usual)) x
    where x.grantee = 0

    union all
    -- They would have triggers sleep in each session.
    select 'setting', s.name || ' = ' || s.reset_val, null
    from pg_settings s
    where s.name = 'session_replication_role'
    and s.reset_val <> 'origin'
    union all
    select 'setting', s.setting || coalesce(' of ' || nullif(s.setrole, 0)::regrole, ''), null
    from (
      select s.setrole, unnest(s.setconfig) as setting
      from pg_db_role_setting s
      where s.setdatabase in (0, (select d.oid from pg_database d where d.datname = current_database()))
    ) s
    where s.setting like 'session_replication_role=%' or s.setting like 'check_function_bodies=%'

    union all
    select 'row', 'settings', to_jsonb(count(*)) from memstore.settings
    union all
    select 'row', 'claim_counter', to_jsonb(count(*)) from memstore.claim_counter
  )
  select
    o.kind,
    o.name,
    left(encode(sha256(convert_to(coalesce(o.definition::text, ''), 'UTF8')), 'hex'), 32) as digest
  from objects o
$$;

comment on function memstore.objects() is 'What the schema consists of, each object with a digest of its definition.';
