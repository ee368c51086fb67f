create or replace function memstore.configure(
  maximum_live_memories integer default null,
  maximum_attached integer default null,
  maximum_attached_characters integer default null,
  lexical_floor double precision default null,
  semantic_floor double precision default null,
  previous_share double precision default null,
  next_share double precision default null,
  system_recall_enabled boolean default null,
  maximum_system_pool integer default null,
  speaker_share double precision default null,
  source_share double precision default null,
  registered_models_only boolean default null,
  user_floor double precision default null,
  score_share double precision default null,
  maximum_items integer default null,
  time_share double precision default null
)
returns memstore.settings
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
/*
configure: changes the store's settings and returns them.

Example:
  select maximum_attached, maximum_attached_characters from memstore.configure(maximum_attached => 6);
Result:
  6|2000

Operator only. What is left out stays as it is.

Arguments
  maximum_live_memories        integer           the ceiling of new accounts, 0 or more
  maximum_attached             integer           memories that one recall attaches, 0 or more
  maximum_attached_characters  integer           characters of bodies that one recall attaches, 0 or more
  lexical_floor                double precision  0 to 1: the lexical score above which a learned memory is eligible
  semantic_floor               double precision  0 to 1: the semantic score above which it is
  previous_share               double precision  0 to 1: how much a lexeme counts that the previous memory of the same
                                                 source_ref has; its square, where the one before has it
  next_share                   double precision  0 to 1: likewise, of the next memory and the one after
  system_recall_enabled        boolean           whether recall reads the system bucket
  maximum_system_pool          integer           claims that rank_claims returns at most, 0 or more
  speaker_share                double precision  0 to 1: by how much more a memory counts whose label the turn names
  source_share                 double precision  0 to 1: how much the best memory of the same source_ref counts
  registered_models_only       boolean           whether an embedding needs a model that is registered
  user_floor                   double precision  0 to 1: the semantic score that makes a user memory eligible which has
                                                 one and no word of the turn; 0, the default, leaves none out
  score_share                  double precision  0 to 1: the share of the best eligible score that a memory with a
                                                 semantic score needs to be eligible, unless it is nearly as near in
                                                 meaning as the nearest; 0, the default, leaves none out
  maximum_items                integer           the items of an account that has no maximum of its own, 0 or more
  time_share                   double precision  0 to 1: by how much more a memory counts that was written in a month or
                                                 year that the turn names
Returns
  the settings
Errors
  rules of settings  such as settings_lexical_floor_shape
*/
declare
  v_settings memstore.settings;
begin
  select s.*
  into strict v_settings
  from memstore.settings s
  for update;
  v_settings.maximum_live_memories := coalesce(configure.maximum_live_memories, v_settings.maximum_live_memories);
  v_settings.maximum_attached := coalesce(configure.maximum_attached, v_settings.maximum_attached);
  v_settings.maximum_attached_characters :=
    coalesce(configure.maximum_attached_characters, v_settings.maximum_attached_characters);
  v_settings.lexical_floor := coalesce(configure.lexical_floor, v_settings.lexical_floor);
  v_settings.semantic_floor := coalesce(configure.semantic_floor, v_settings.semantic_floor);
  v_settings.previous_share := coalesce(configure.previous_share, v_settings.previous_share);
  v_settings.next_share := coalesce(configure.next_share, v_settings.next_share);
  v_settings.speaker_share := coalesce(configure.speaker_share, v_settings.speaker_share);
  v_settings.source_share := coalesce(configure.source_share, v_settings.source_share);
  v_settings.system_recall_enabled := coalesce(configure.system_recall_enabled, v_settings.system_recall_enabled);
  v_settings.maximum_system_pool := coalesce(configure.maximum_system_pool, v_settings.maximum_system_pool);
  v_settings.registered_models_only := coalesce(configure.registered_models_only, v_settings.registered_models_only);
  v_settings.user_floor := coalesce(configure.user_floor, v_settings.user_floor);
  v_settings.score_share := coalesce(configure.score_share, v_settings.score_share);
  v_settings.maximum_items := coalesce(configure.maximum_items, v_settings.maximum_items);
  v_settings.time_share := coalesce(configure.time_share, v_settings.time_share);
  if not memstore.settings_obey(v_settings) then
    perform memstore.refuse_row('settings', memstore.settings_broken(v_settings));
  end if;

  update memstore.settings
  set
    maximum_live_memories = v_settings.maximum_live_memories,
    maximum_attached = v_settings.maximum_attached,
    maximum_attached_characters = v_settings.maximum_attached_characters,
    lexical_floor = v_settings.lexical_floor,
    semantic_floor = v_settings.semantic_floor,
    previous_share = v_settings.previous_share,
    next_share = v_settings.next_share,
    speaker_share = v_settings.speaker_share,
    source_share = v_settings.source_share,
    system_recall_enabled = v_settings.system_recall_enabled,
    maximum_system_pool = v_settings.maximum_system_pool,
    registered_models_only = v_settings.registered_models_only,
    user_floor = v_settings.user_floor,
    score_share = v_settings.score_share,
    maximum_items = v_settings.maximum_items,
    time_share = v_settings.time_share;
  return v_settings;
end
$$;
