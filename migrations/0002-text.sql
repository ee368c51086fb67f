-- What: the functions that constraints and generated columns are built from.
-- Why here: they are a part of the data. A change to one of them would need the tables to be written anew.
-- Locks: nothing that exists. Clients: there is no earlier one.

create function memstore.languages()
returns text[]
language sql
immutable parallel safe
return array[
  'simple', 'arabic', 'armenian', 'basque', 'catalan', 'danish', 'dutch', 'english', 'finnish', 'french',
  'german', 'greek', 'hindi', 'hungarian', 'indonesian', 'irish', 'italian', 'lithuanian', 'nepali',
  'norwegian', 'portuguese', 'romanian', 'russian', 'serbian', 'spanish', 'swedish', 'tamil', 'turkish',
  'yiddish'
]::pg_catalog.text[];

comment on function memstore.languages() is 'The text search configurations that PostgreSQL 15 and every later version have.';

-- Unicode's White_Space property. A locale's class misses some of them.
create function memstore.trim_text(content text)
returns text
language plpgsql
immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return btrim(
    trim_text.content,
    E'\u0009\u000a\u000b\u000c\u000d\u0020\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005'
    '\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000'
  );
end
$$;

comment on function memstore.trim_text(text) is 'The text without the white space (Unicode''s code points) around it.';

-- The words of a text as they are indexed and looked up: without case, accents and inflection, each once,
-- in the order of their first place. Bodies and turns both go through it, so punctuation is never an
-- operator. It reads no locale: the same text gives the same words on every server.
create function memstore.lexemes(language text, content text)
returns text[]
language plpgsql
immutable strict parallel safe
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
declare
  v_dictionary regdictionary;
  v_ascii_dictionary regdictionary;
  v_text text := lexemes.content;
begin
  if lexemes.language <> all (memstore.languages()) then
    return '{}';  -- the table refuses the row by name
  end if;
  v_dictionary := case lexemes.language when 'simple' then 'simple' else lexemes.language || '_stem' end;
  v_ascii_dictionary := v_dictionary;

  if octet_length(v_text) = char_length(v_text) then
    v_text := regexp_replace(lower(v_text collate "C"), '[^a-z0-9]+', ' ', 'g');
  else
    declare
      -- White space, punctuation and symbols. The ASCII ones are what is left beside a-z and 0-9.
      c_separators constant text := '[\u0001-\u002f\u003a-\u0060\u007b-\u007f'
        || '\u0080-\u009f\u00a1-\u00a7\u00a9\u00ab\u00ac\u00ae\u00b0\u00b1\u00b6\u00b7\u00bb\u00bf\u00d7'
        || '\u00f7\u02c2-\u02c5\u02d2-\u02d7\u02de\u02df\u02e5-\u02eb\u02ed\u02ef-\u02ff\u0375\u03f6\u0482'
        || '\u055a-\u055f\u0589-\u058f\u05be\u05c0\u05c3\u05c6\u05f3-\u060f\u061b\u061d-\u061f\u066a-\u066d'
        || '\u06d4\u06dd\u06de\u06e9\u06fd\u06fe\u0700-\u070f\u07f6-\u07f9\u07fe\u07ff\u0830-\u083e\u085e'
        || '\u0888\u0890\u0891\u08e2\u0964\u0965\u0970\u09f2\u09f3\u09fa\u09fb\u09fd\u0a76\u0af0\u0af1\u0b70'
        || '\u0bf3-\u0bfa\u0c77\u0c7f\u0c84\u0d4f\u0d79\u0df4\u0e3f\u0e4f\u0e5a\u0e5b\u0f01-\u0f0b\u0f0d-\u0f17'
        || '\u0f1a-\u0f1f\u0f34\u0f36\u0f38\u0f3a-\u0f3d\u0f85\u0fbe-\u0fc5\u0fc7-\u0fda\u104a-\u104f\u109e'
        || '\u109f\u10fb\u1360-\u1368\u1390-\u1399\u1400\u166d\u166e\u1680\u169b\u169c\u16eb-\u16ed\u1735'
        || '\u1736\u17d4-\u17d6\u17d8-\u17db\u1800-\u180a\u1940-\u1945\u19de-\u19ff\u1a1e\u1a1f\u1aa0-\u1aa6'
        || '\u1aa8-\u1aad\u1b5a-\u1b6a\u1b74-\u1b7e\u1bfc-\u1bff\u1c3b-\u1c3f\u1c7e\u1c7f\u1cc0-\u1cc7\u1cd3'
        || '\u200b\u2010\u2012-\u2016\u2018-\u2023\u2027-\u2029\u2030-\u2032\u2035\u2038-\u203b\u203d\u203f-\u2046'
        || '\u204a-\u2056\u2058-\u205e\u20a0-\u20a7\u20a9-\u20c0\u2104\u2108\u2114\u2117\u2118\u211e\u211f'
        || '\u2123\u2125\u2127\u2129\u212e\u213a\u2141-\u2144\u214a-\u214d\u214f\u218a-\u222b\u222e\u2231-\u2328'
        || '\u232b-\u244a\u2500-\u25ff\u27c0-\u2a0b\u2a0d-\u2a73\u2a77-\u2adb\u2add-\u2bff\u2ce5-\u2cea'
        || '\u2cf9-\u2cfc\u2cfe\u2cff\u2d70\u2e00-\u2e2e\u2e30-\u2e9e\u2ea0-\u2ef2\u2ff0-\u2ffb\u3001-\u3004'
        || '\u3008-\u3020\u3030\u3037\u303d-\u303f\u30a0\u30fb\u3190\u3191\u31c0-\u31e3\u327f\u4dc0-\u4dff'
        || '\ua490-\ua4c6\ua4fe\ua4ff\ua60d-\ua60f\ua673\ua67e\ua6f2-\ua716\ua720\ua721\ua789\ua78a\ua828-\ua82b'
        || '\ua836-\ua839\ua874-\ua877\ua8ce\ua8cf\ua8f8-\ua8fa\ua8fc\ua92e\ua92f\ua95f\ua9c1-\ua9cd\ua9de'
        || '\ua9df\uaa5c-\uaa5f\uaa77-\uaa79\uaade\uaadf\uaaf0\uaaf1\uab5b\uab6a\uab6b\uabeb\ufbb2-\ufbc2'
        || '\ufd3e-\ufd4f\ufdcf\ufdfd-\ufdff\ufe45\ufe46\ufff9-\ufffd\U0001d000-\U0001d15d\U0001d16a-\U0001d16c'
        || '\U0001d173-\U0001d17a\U0001d183\U0001d184\U0001d18c-\U0001d1a9\U0001d1ae-\U0001d1ba\U0001d1c1-\U0001d1ea'
        || ']+';
      -- Joiners, variation selectors, soft hyphens, directional marks: not a part of how a word is spelt.
      c_ignored constant text := '[\u00ad\u034f\u061c\u180b-\u180e\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]+';
      -- Thai, Lao, Burmese, Khmer, Chinese, Japanese, Korean, and emoji.
      c_unspaced constant text := '['
        || '\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e81-\u0edf\u1000-\u1049\u1050-\u109d\u1100-\u11ff'
        || '\u1780-\u17d3\u17d7\u17dc-\u17e9\u2600-\u27bf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c'
        || '\u3041-\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff'
        || '\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb\uf900-\ufaff\U0001f000-\U0001fbff\U00020000-\U000323af'
        || ']';
      -- Capitals that have no decomposition, and letters that are read as another one.
      c_letters constant text := 'ÆÐØÞĐĦŁŊŒŦƁƂƄƆƇƉƊƋƎƏƐƑƓƔƖƗƘƜƝƟƢƤƦƧƩƬƮƱƲƳƵƷƸƼǢǤǮǶǷǼǾȜȠȢȤȺȻȽȾɁɃɄɅɆɈɊɌɎͰͲ'
        || 'ͶͿΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩϏϘϚϜϞϠϢϤϦϨϪϬϮϴϷϹϺϽϾЀЁЂЃЄЅІЇЈЉЊЋЌЍЎЏАБВГДЕЖЗИ'
        || 'ЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯѠѢѤѦѨѪѬѮѰѲѴѶѸѺѼѾҀҊҌҎҐҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺҼҾӀӁӃ'
        || 'ӅӇӉӋӍӐӒӔӖӘӚӜӞӠӢӤӦӨӪӬӮӰӲӴӶӸӺӼӾԀԂԄԆԈԊԌԎԐԒԔԖԘԚԜԞԠԢԤԦԨԪԬԮԱԲԳԴԵԶԷԸԹԺԻԼԽԾԿՀՁ'
        || 'ՂՃՄՅՆՇՈՉՊՋՌՍՎՏՐՑՒՓՔՕՖøđðłħıŧςёϿႠႡႢႣႤႥႦႧႨႩႪႫႬႭႮႯႰႱႲႳႴႵႶႷႸႹႺႻႼႽႾႿჀჁჂჃჄჅჇ'
        || 'ჍᎠᎡᎢᎣᎤᎥᎦᎧᎨᎩᎪᎫᎬᎭᎮᎯᎰᎱᎲᎳᎴᎵᎶᎷᎸᎹᎺᎻᎼᎽᎾᎿᏀᏁᏂᏃᏄᏅᏆᏇᏈᏉᏊᏋᏌᏍᏎᏏᏐᏑᏒᏓᏔᏕᏖᏗᏘᏙᏚᏛᏜᏝᏞᏟᏠᏡᏢᏣᏤ'
        || 'ᏥᏦᏧᏨᏩᏪᏫᏬᏭᏮᏯᏰᏱᏲᏳᏴᏵᲐᲑᲒᲓᲔᲕᲖᲗᲘᲙᲚᲛᲜᲝᲞᲟᲠᲡᲢᲣᲤᲥᲦᲧᲨᲩᲪᲫᲬᲭᲮᲯᲰᲱᲲᲳᲴᲵᲶᲷᲸᲹᲺᲽᲾᲿẞỺỼỾℲↃⰀ'
        || 'ⰁⰂⰃⰄⰅⰆⰇⰈⰉⰊⰋⰌⰍⰎⰏⰐⰑⰒⰓⰔⰕⰖⰗⰘⰙⰚⰛⰜⰝⰞⰟⰠⰡⰢⰣⰤⰥⰦⰧⰨⰩⰪⰫⰬⰭⰮⰯⱠⱢⱣⱤⱧⱩⱫⱭⱮⱯⱰⱲⱵⱾⱿⲀⲂⲄⲆⲈⲊⲌⲎ'
        || 'ⲐⲒⲔⲖⲘⲚⲜⲞⲠⲢⲤⲦⲨⲪⲬⲮⲰⲲⲴⲶⲸⲺⲼⲾⳀⳂⳄⳆⳈⳊⳌⳎⳐⳒⳔⳖⳘⳚⳜⳞⳠⳢⳫⳭⳲꙀꙂꙄꙆꙈꙊꙌꙎꙐꙒꙔꙖꙘꙚꙜꙞꙠꙢꙤꙦꙨꙪꙬꚀꚂ'
        || 'ꚄꚆꚈꚊꚌꚎꚐꚒꚔꚖꚘꚚꜢꜤꜦꜨꜪꜬꜮꜲꜴꜶꜸꜺꜼꜾꝀꝂꝄꝆꝈꝊꝌꝎꝐꝒꝔꝖꝘꝚꝜꝞꝠꝢꝤꝦꝨꝪꝬꝮꝹꝻꝽꝾꞀꞂꞄꞆꞋꞍꞐꞒꞖꞘꞚꞜꞞꞠꞢꞤ'
        || 'ꞦꞨꞪꞫꞬꞭꞮꞰꞱꞲꞳꞴꞶꞸꞺꞼꞾꟀꟂꟄꟅꟆꟇꟉꟐꟖꟘꟵ𐐀𐐁𐐂𐐃𐐄𐐅𐐆𐐇𐐈𐐉𐐊𐐋𐐌𐐍𐐎𐐏𐐐𐐑𐐒𐐓𐐔𐐕𐐖𐐗𐐘𐐙𐐚𐐛𐐜𐐝𐐞𐐟𐐠𐐡𐐢𐐣𐐤𐐥𐐦𐐧𐒰𐒱'
        || '𐒲𐒳𐒴𐒵𐒶𐒷𐒸𐒹𐒺𐒻𐒼𐒽𐒾𐒿𐓀𐓁𐓂𐓃𐓄𐓅𐓆𐓇𐓈𐓉𐓊𐓋𐓌𐓍𐓎𐓏𐓐𐓑𐓒𐓓𐕰𐕱𐕲𐕳𐕴𐕵𐕶𐕷𐕸𐕹𐕺𐕼𐕽𐕾𐕿𐖀𐖁𐖂𐖃𐖄𐖅𐖆𐖇𐖈𐖉𐖊𐖌𐖍𐖎𐖏𐖐𐖑𐖒𐖔𐖕𐲀'
        || '𐲁𐲂𐲃𐲄𐲅𐲆𐲇𐲈𐲉𐲊𐲋𐲌𐲍𐲎𐲏𐲐𐲑𐲒𐲓𐲔𐲕𐲖𐲗𐲘𐲙𐲚𐲛𐲜𐲝𐲞𐲟𐲠𐲡𐲢𐲣𐲤𐲥𐲦𐲧𐲨𐲩𐲪𐲫𐲬𐲭𐲮𐲯𐲰𐲱𐲲𑢠𑢡𑢢𑢣𑢤𑢥𑢦𑢧𑢨𑢩𑢪𑢫𑢬𑢭𑢮𑢯𑢰𑢱𑢲𑢳'
        || '𑢴𑢵𑢶𑢷𑢸𑢹𑢺𑢻𑢼𑢽𑢾𑢿𖹀𖹁𖹂𖹃𖹄𖹅𖹆𖹇𖹈𖹉𖹊𖹋𖹌𖹍𖹎𖹏𖹐𖹑𖹒𖹓𖹔𖹕𖹖𖹗𖹘𖹙𖹚𖹛𖹜𖹝𖹞𖹟𞤀𞤁𞤂𞤃𞤄𞤅𞤆𞤇𞤈𞤉𞤊𞤋𞤌𞤍𞤎𞤏𞤐𞤑𞤒𞤓𞤔𞤕𞤖𞤗𞤘𞤙'
        || '𞤚𞤛𞤜𞤝𞤞𞤟𞤠𞤡ᲉꟋꟌꟚꟜ𐵐𐵑𐵒𐵓𐵔𐵕𐵖𐵗𐵘𐵙𐵚𐵛𐵜𐵝𐵞𐵟𐵠𐵡𐵢𐵣𐵤𐵥';
      c_folded constant text := 'ædoþdhlŋœtɓƃƅɔƈɖɗƌǝəɛƒɠɣɩɨƙɯɲɵƣƥʀƨʃƭʈʊʋƴƶʒƹƽǣǥǯƕƿǽǿȝƞȣȥⱥȼƚⱦɂƀʉʌɇɉɋɍɏͱͳ'
        || 'ͷϳαβγδεζηθικλμνξοπρστυφχψωϗϙϛϝϟϡϣϥϧϩϫϭϯθϸϲϻͻͼѐеђѓєѕіїјљњћќѝўџабвгдежзи'
        || 'йклмнопрстуфхцчшщъыьэюяѡѣѥѧѩѫѭѯѱѳѵѷѹѻѽѿҁҋҍҏґғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹһҽҿӏӂӄ'
        || 'ӆӈӊӌӎӑӓӕӗәӛӝӟӡӣӥӧөӫӭӯӱӳӵӷӹӻӽӿԁԃԅԇԉԋԍԏԑԓԕԗԙԛԝԟԡԣԥԧԩԫԭԯաբգդեզէըթժիլխծկհձ'
        || 'ղճմյնշոչպջռսվտրցւփքօֆoddlhitσеͽⴀⴁⴂⴃⴄⴅⴆⴇⴈⴉⴊⴋⴌⴍⴎⴏⴐⴑⴒⴓⴔⴕⴖⴗⴘⴙⴚⴛⴜⴝⴞⴟⴠⴡⴢⴣⴤⴥⴧ'
        || 'ⴭꭰꭱꭲꭳꭴꭵꭶꭷꭸꭹꭺꭻꭼꭽꭾꭿꮀꮁꮂꮃꮄꮅꮆꮇꮈꮉꮊꮋꮌꮍꮎꮏꮐꮑꮒꮓꮔꮕꮖꮗꮘꮙꮚꮛꮜꮝꮞꮟꮠꮡꮢꮣꮤꮥꮦꮧꮨꮩꮪꮫꮬꮭꮮꮯꮰꮱꮲꮳꮴ'
        || 'ꮵꮶꮷꮸꮹꮺꮻꮼꮽꮾꮿᏸᏹᏺᏻᏼᏽაბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხჯჰჱჲჳჴჵჶჷჸჹჺჽჾჿßỻỽỿⅎↄⰰ'
        || 'ⰱⰲⰳⰴⰵⰶⰷⰸⰹⰺⰻⰼⰽⰾⰿⱀⱁⱂⱃⱄⱅⱆⱇⱈⱉⱊⱋⱌⱍⱎⱏⱐⱑⱒⱓⱔⱕⱖⱗⱘⱙⱚⱛⱜⱝⱞⱟⱡɫᵽɽⱨⱪⱬɑɱɐɒⱳⱶȿɀⲁⲃⲅⲇⲉⲋⲍⲏ'
        || 'ⲑⲓⲕⲗⲙⲛⲝⲟⲡⲣⲥⲧⲩⲫⲭⲯⲱⲳⲵⲷⲹⲻⲽⲿⳁⳃⳅⳇⳉⳋⳍⳏⳑⳓⳕⳗⳙⳛⳝⳟⳡⳣⳬⳮⳳꙁꙃꙅꙇꙉꙋꙍꙏꙑꙓꙕꙗꙙꙛꙝꙟꙡꙣꙥꙧꙩꙫꙭꚁꚃ'
        || 'ꚅꚇꚉꚋꚍꚏꚑꚓꚕꚗꚙꚛꜣꜥꜧꜩꜫꜭꜯꜳꜵꜷꜹꜻꜽꜿꝁꝃꝅꝇꝉꝋꝍꝏꝑꝓꝕꝗꝙꝛꝝꝟꝡꝣꝥꝧꝩꝫꝭꝯꝺꝼᵹꝿꞁꞃꞅꞇꞌɥꞑꞓꞗꞙꞛꞝꞟꞡꞣꞥ'
        || 'ꞧꞩɦɜɡɬɪʞʇʝꭓꞵꞷꞹꞻꞽꞿꟁꟃꞔʂᶎꟈꟊꟑꟗꟙꟶ𐐨𐐩𐐪𐐫𐐬𐐭𐐮𐐯𐐰𐐱𐐲𐐳𐐴𐐵𐐶𐐷𐐸𐐹𐐺𐐻𐐼𐐽𐐾𐐿𐑀𐑁𐑂𐑃𐑄𐑅𐑆𐑇𐑈𐑉𐑊𐑋𐑌𐑍𐑎𐑏𐓘𐓙'
        || '𐓚𐓛𐓜𐓝𐓞𐓟𐓠𐓡𐓢𐓣𐓤𐓥𐓦𐓧𐓨𐓩𐓪𐓫𐓬𐓭𐓮𐓯𐓰𐓱𐓲𐓳𐓴𐓵𐓶𐓷𐓸𐓹𐓺𐓻𐖗𐖘𐖙𐖚𐖛𐖜𐖝𐖞𐖟𐖠𐖡𐖣𐖤𐖥𐖦𐖧𐖨𐖩𐖪𐖫𐖬𐖭𐖮𐖯𐖰𐖱𐖳𐖴𐖵𐖶𐖷𐖸𐖹𐖻𐖼𐳀'
        || '𐳁𐳂𐳃𐳄𐳅𐳆𐳇𐳈𐳉𐳊𐳋𐳌𐳍𐳎𐳏𐳐𐳑𐳒𐳓𐳔𐳕𐳖𐳗𐳘𐳙𐳚𐳛𐳜𐳝𐳞𐳟𐳠𐳡𐳢𐳣𐳤𐳥𐳦𐳧𐳨𐳩𐳪𐳫𐳬𐳭𐳮𐳯𐳰𐳱𐳲𑣀𑣁𑣂𑣃𑣄𑣅𑣆𑣇𑣈𑣉𑣊𑣋𑣌𑣍𑣎𑣏𑣐𑣑𑣒𑣓'
        || '𑣔𑣕𑣖𑣗𑣘𑣙𑣚𑣛𑣜𑣝𑣞𑣟𖹠𖹡𖹢𖹣𖹤𖹥𖹦𖹧𖹨𖹩𖹪𖹫𖹬𖹭𖹮𖹯𖹰𖹱𖹲𖹳𖹴𖹵𖹶𖹷𖹸𖹹𖹺𖹻𖹼𖹽𖹾𖹿𞤢𞤣𞤤𞤥𞤦𞤧𞤨𞤩𞤪𞤫𞤬𞤭𞤮𞤯𞤰𞤱𞤲𞤳𞤴𞤵𞤶𞤷𞤸𞤹𞤺𞤻'
        || '𞤼𞤽𞤾𞤿𞥀𞥁𞥂𞥃ᲊɤꟍꟛƛ𐵰𐵱𐵲𐵳𐵴𐵵𐵶𐵷𐵸𐵹𐵺𐵻𐵼𐵽𐵾𐵿𐶀𐶁𐶂𐶃𐶄𐶅';
      -- A Latin or Greek letter with its accents behind it, as compatibility decomposition leaves them.
      c_accented constant text := '([A-Za-z\u00c0-\u02af\u0370-\u03ff])[\u0300-\u036f]+';
      c_letter constant text := '[' || c_letters || ']';
      v_letter text;
    begin
      v_text := regexp_replace(translate(v_text, '™℠', '  '), c_ignored, '', 'g');
      v_text := regexp_replace(normalize(v_text, nfkd), c_accented, '\1', 'g');
      v_text := lower(normalize(v_text, nfc) collate "C");
      -- A text has few distinct capitals; translate() would compare each character with all of them.
      loop
        v_letter := substring(v_text from c_letter);
        exit when v_letter is null;
        v_text := replace(v_text, v_letter, substr(c_folded, strpos(c_letters, v_letter), 1));
      end loop;
      v_text := replace(replace(replace(replace(v_text, 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th');
      v_text := regexp_replace(v_text, c_separators, ' ', 'g');
      if v_text ~ c_unspaced then
        v_text := (
          select string_agg(
            case when w.word ~ ('^' || c_unspaced)
              then (
                select string_agg(c.character || coalesce(' ' || c.character || c.next, ''), ' ' order by c.position)
                from (
                  select s.character, s.position, lead(s.character) over (order by s.position) as next
                  from string_to_table(w.word, null) with ordinality s (character, position)
                ) c
              )
              else w.word
            end,
            ' ' order by w.position
          )
          from string_to_table(regexp_replace(v_text, '(' || c_unspaced || '+)', ' \1 ', 'g'), ' ')
            with ordinality w (word, position)
        );
      end if;
    end;
  end if;
  if lexemes.language in ('arabic', 'armenian', 'greek', 'hindi', 'nepali', 'russian', 'tamil', 'yiddish') then
    v_ascii_dictionary := 'english_stem';
  end if;

  return array(
    select l.lexeme
    from string_to_table(v_text, ' ') with ordinality w (word, position)
    cross join unnest(
      ts_lexize(
        case when octet_length(w.word) = char_length(w.word) then v_ascii_dictionary else v_dictionary end,
        -- A lexeme holds at most 2,046 bytes.
        case when octet_length(w.word) > 2000 then left(w.word, 500) else w.word end
      )
    ) l (lexeme)
    where w.word <> ''
    group by l.lexeme
    order by min(w.position), l.lexeme
  );
end
$$;

comment on function memstore.lexemes(text, text) is 'The distinct words of a text, folded and stemmed for a language, in the order of their first place.';

-- A CHECK can hold no subquery, and jsonpath counts no further than 255.
create function memstore.evidence_is_valid(evidence_refs jsonb)
returns boolean
language plpgsql
immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_item jsonb;
begin
  if evidence_refs is null or jsonb_typeof(evidence_refs) <> 'array' then
    return false;
  end if;
  if jsonb_array_length(evidence_refs) not between 1 and 20 then
    return false;
  end if;
  for v_item in select e.item from jsonb_array_elements(evidence_refs) e (item) loop
    if coalesce(
      jsonb_typeof(v_item) <> 'object'
      or jsonb_typeof(v_item -> 'kind') <> 'string'
      or v_item ->> 'kind' not in ('receipt', 'memory', 'url')
      or jsonb_typeof(v_item -> 'ref') <> 'string'
      or char_length(v_item ->> 'ref') > 2000
      or memstore.trim_text(v_item ->> 'ref') = ''
      or jsonb_typeof(v_item -> 'digest') <> 'string'
      or char_length(v_item ->> 'digest') > 200
      or memstore.trim_text(v_item ->> 'digest') = '',
      true
    ) then
      return false;
    end if;
  end loop;
  return true;
end
$$;

comment on function memstore.evidence_is_valid(jsonb)
is 'Whether this is an array of 1 to 20 objects with a kind (receipt, memory, url), a ref of up to 2,000 characters and a digest of up to 200.';

revoke all on function
  memstore.languages(),
  memstore.trim_text(text),
  memstore.lexemes(text, text),
  memstore.evidence_is_valid(jsonb)
from public;

insert into memstore.deployment (name) values ('0002-text');
