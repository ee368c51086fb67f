"""sql/examples/sharding, as sql/scaling.md has it: two shards of accounts, one of claims, behind PL/Proxy."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import date
from threading import Barrier
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memstore import (
    ActorUnknown,
    IdTaken,
    InvalidMemory,
    InvalidValue,
    MemoryNotFound,
    NotSupersedable,
    StewardRequired,
    Store,
    StoreUnavailable,
    schema,
)
from tests.databases import admin_conninfo, empty_database, environment, names, program, skip_without
from tests.documents import ROOT, blocks
from tests.sql.support import EVIDENCE, SYSTEM
from tests.test_scaling import READS, WRITES, answer

if TYPE_CHECKING:
    from tests.servers import Server

pytestmark = pytest.mark.long

LOGIN, APPLICATION = "memstore_proxy", "memstore_test_application"
ROLES = (APPLICATION, "memstore_application", LOGIN)
SHELL = blocks("sql/scaling.md", "sh")
SQL = blocks("sql/scaling.md", "sql")
OWN = "select count(*) from memstore.memories where bucket <> 'system'"
ANY = {"claims": "host=c dbname=agents", "p0": "host=a dbname=agents", "p1": "host=b dbname=agents"}


@dataclass(frozen=True)
class Cluster:
    """Four databases: conninfos of their owner, and the one by which an application finds the proxy."""

    proxy: str
    claims: str
    accounts: tuple[str, ...]
    application: str


def execute(conninfo: str, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        cursor = connection.execute(statement.encode(), parameters or None)
        return [] if cursor.description is None else cursor.fetchall()


def written(conninfo: str) -> str:
    """A conninfo without the owner's login, as a server's option has it."""
    parts = {
        key: value for key, value in conninfo_to_dict(conninfo).items() if key not in ("user", "password")
    }
    return make_conninfo("", **parts)


@pytest.fixture(scope="module")
def cluster(server: Server) -> Iterator[Cluster]:
    with ExitStack() as stack:
        admin = admin_conninfo(server)
        if not execute(admin, "select from pg_available_extensions where name = 'plproxy'"):
            skip_without("plproxy")
        for role in ROLES:
            execute(admin, f"drop role if exists {role}")
            stack.callback(execute, admin, f"drop role if exists {role}")
        proxy, claims, *accounts = (stack.enter_context(empty_database(server)) for _ in range(4))
        for shard in (claims, *accounts):
            schema.migrate(shard)
            (login,) = [block.code for block in SQL if "create role" in block.code]
            execute(shard, login if shard == claims else login.partition("\n")[2])
        execute(claims, "select memstore.configure(system_recall_enabled => true)")
        (install,) = [block.code for block in SHELL if "cluster.sql" in block.code]
        places = dict(zip(ANY.values(), map(written, (claims, *accounts)), strict=True))
        install = re.sub(f"-d '({ANY['claims']})'", lambda _: f'-d "{claims}"', install)
        install = re.sub("|".join(places), lambda found: places[found[0]], install)
        install = re.sub("-d proxy", lambda _: f'-d "{proxy}"', install).replace(
            "psql ", f"{program('psql')} "
        )
        result = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", install],
            cwd=ROOT,
            env=environment(),
            text=True,
            capture_output=True,
        )
        assert (result.returncode, result.stderr) == (0, "")
        execute(proxy, f"create role {APPLICATION} login password 'secret' in role memstore_application")
        yield Cluster(
            proxy, claims, tuple(accounts), make_conninfo(proxy, user=APPLICATION, password="secret")
        )


@pytest.fixture
def store(cluster: Cluster) -> Iterator[Store]:
    with Store(cluster.application) as store:
        yield store


@pytest.fixture
def pair(cluster: Cluster, store: Store) -> tuple[UUID, UUID]:
    """An account on each shard."""
    found: dict[int, UUID] = {}
    for _ in range(40):
        account = store.create_user()
        found[home(cluster, account)] = account
        if len(found) == 2:
            break
    return found[0], found[1]


def home(cluster: Cluster, account: UUID) -> int:
    """The number of the one shard that has the account."""
    query = "select from memstore.users where id = %s"
    (number,) = [n for n, shard in enumerate(cluster.accounts) if execute(shard, query, account)]
    return number


@pytest.fixture
def steward(cluster: Cluster, store: Store) -> UUID:
    steward = store.create_user()
    execute(cluster.claims, "select memstore.set_steward(%s, true)", steward)
    return steward


def claim(store: Store, author: UUID, body: str, bucket: str = "system") -> UUID:
    memory = store.insert_memory(
        author,
        body,
        bucket=bucket,
        slug="sys:animals",
        tier="ledger",
        as_of=date(2026, 1, 2),
        admission="candidate",
        evidence_refs=[EVIDENCE],
    )
    return memory.id


@contextmanager
def out_of_reach(cluster: Cluster, name: str, option: str) -> Iterator[None]:
    """One shard has moved to where nobody answers."""
    alter = sql.SQL("alter server {} options (set {} {})")
    ((before,),) = execute(
        cluster.proxy,
        "select option_value from pg_foreign_server, pg_options_to_table(srvoptions)"
        " where srvname = %s and option_name = %s",
        name,
        option,
    )
    with psycopg.connect(cluster.proxy, autocommit=True) as proxy:
        parts = sql.Identifier(name), sql.Identifier(option)
        proxy.execute(alter.format(*parts, "host=/nonexistent dbname=agents"))
        try:
            yield
        finally:
            proxy.execute(alter.format(*parts, before))


def test_the_api_is_the_shards(cluster: Cluster) -> None:
    """Names, arguments, defaults, results and volatility."""
    query = """
        select p.proname::text, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid),
          p.provolatile = 'v', p.proretset
        from pg_proc p where p.pronamespace = 'memstore'::regnamespace {} order by 1
    """
    api = "and p.oid in (select signature from memstore.api_functions)"
    assert execute(cluster.proxy, query.format("")) == execute(cluster.claims, query.format(api))
    types = """
        select c.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod)
        from pg_class c join pg_attribute a on a.attrelid = c.oid
        where c.relnamespace = 'memstore'::regnamespace and c.relkind = 'c' order by 1, a.attnum
    """
    assert execute(cluster.proxy, types) == execute(cluster.claims, types)


def comparable(value: object) -> object:
    """Without times and secrets, and with the order of the ids in their place: they differ by store."""
    value = re.sub(r"mst_[0-9a-f]{64}", "secret", repr(value))
    text = re.sub(r"datetime\.datetime\(.*?tzinfo=[^)]*\)+|\d{4}-\d\d-\d\d[T ][\d:.+]+", "time", value)
    found = {each: n for n, each in enumerate(dict.fromkeys(re.findall(r"[0-9a-f-]{36}", text)))}
    return re.sub(r"[0-9a-f-]{36}", lambda each: str(found[each[0]]), text)


def test_every_function_does_what_it_does_in_one_store(cluster: Cluster, db: psycopg.Connection) -> None:
    """All of the API, as its view lists it: who adds a function says here, too, how it is called."""
    functions = names(db, "select name from memstore.api where not owner_only")
    with psycopg.connect(cluster.proxy) as proxy:
        there = "select proname::text from pg_proc where pronamespace = 'memstore'::regnamespace"
        assert names(proxy, there) == functions
    store = (schema.sql_dir() / "examples" / "store.sql").read_text(encoding="utf-8")
    db.execute(store.encode())
    db.execute("select memstore.configure(system_recall_enabled => true)")
    with psycopg.connect(cluster.application, autocommit=True) as proxy:
        for statement in store.partition("\n")[2].split(";\n"):
            marked = "memstore.set_steward(memstore.create_user(external_ref => 'steward-1'), true)"
            proxy.execute(
                statement.replace(marked, "memstore.create_user(external_ref => 'steward-1')").encode()
            )
            if marked in statement:
                execute(cluster.claims, f"select {marked}")
        refused = set()
        last = ("list_tokens", "promote_memory", "supersede_with", "delete_memory", "delete_user")
        ordered = [
            *sorted((functions & READS.keys()) - set(last)),
            *sorted(functions - READS.keys() - set(last)),
            *last,
        ]
        for name in ordered:
            arguments = (READS | WRITES)[name]
            said = []
            for connection in (db, proxy):
                try:
                    said.append(comparable(answer(connection, name, arguments)))
                except psycopg.Error as error:
                    said.append(error.diag.constraint_name)
                    refused.add(name)
            assert said[0] == said[1], name
            assert said[0] != "[]", name
        # It was superseded before.
        assert refused == {"supersede_with"}


def exported(store: Store, account: UUID, page_size: int) -> list[dict[str, Any]]:
    """All pages, of which only the last is not full."""
    found: list[dict[str, Any]] = []
    while True:
        after = UUID(found[-1]["id"]) if found else None
        page = store.export_memories(account, page_size=page_size, after=after)
        found += page
        if len(page) < page_size:
            return found


def test_exports(store: Store, pair: tuple[UUID, UUID]) -> None:
    """The account's own from its shard, then its claims, in pages of any size."""
    for account in pair:
        kept = [store.insert_memory(account, f"I use pnpm {n}.").id for n in range(3)]
        kept.append(store.supersede_memory(account, kept.pop(), "I use npm.").id)
        claims = [claim(store, account, f"Okapis are rare {n}.") for n in range(3)]
        whole = exported(store, account, 1000)
        assert len(whole) == 7
        assert [UUID(each["id"]) for each in whole[:3]] == kept[::-1]
        assert [UUID(each["id"]) for each in whole[4:]] == claims[::-1]
        for page_size in range(1, 9):
            assert exported(store, account, page_size) == whole
        described = store.export_account(account)
        assert (described["memories"], described["live_memories"]) == (7, 6)
        with pytest.raises(MemoryNotFound):
            store.export_memories(account, after=uuid4())
        with pytest.raises(InvalidValue):
            store.export_memories(account, page_size=10001)


def test_a_function_without_a_place_is_refused(cluster: Cluster) -> None:
    api = schema.sql_dir() / "examples" / "sharding" / "api.sql"
    ((view,),) = execute(cluster.claims, "select pg_get_viewdef('memstore.api_functions'::regclass)")
    replace = "create or replace view memstore.api_functions as "
    unplaced = "select 'memstore.lexemes(text, text)'::regprocedure, 'lexemes'"
    try:
        execute(cluster.claims, f"{replace} {view.strip(' ;')} union all {unplaced}")
        result = subprocess.run(
            [program("psql"), "-qAtX", "-d", cluster.claims, "-f", api], text=True, capture_output=True
        )
    finally:
        execute(cluster.claims, f"{replace} {view}")
    assert (result.returncode, result.stdout) == (3, "")
    assert "No place for: lexemes." in result.stderr


def test_accounts_are_spread(cluster: Cluster, store: Store) -> None:
    accounts = {store.create_user(external_ref=f"spread-{n}"): f"I am number {n}." for n in range(20)}
    for account, body in accounts.items():
        store.insert_memory(account, body)
    found = [0, 0]
    for account, body in accounts.items():
        shard = home(cluster, account)
        found[shard] += 1
        texts = "select body from memstore.memories where user_id = %s"
        assert execute(cluster.accounts[shard], texts, account) == [(body,)]
        assert [memory.body for memory in store.list_memories(account)] == [body]
    assert min(found) > 0
    assert execute(cluster.claims, OWN) == [(0,)]


@pytest.mark.parametrize("shard", [0, 1])
def test_the_account_plane(shard: int, cluster: Cluster, store: Store, pair: tuple[UUID, UUID]) -> None:
    """Each call does on the account's shard what it does there without a proxy."""
    account = pair[shard]
    with Store(cluster.accounts[shard]) as direct:
        first = store.insert_memory(account, "I use npm.", embedding=[1, 0.5], embedding_model="two")
        second = store.supersede_memory(account, first.id, "I use pnpm.")
        learned, other = store.insert_memories(
            account, [{"body": "Deploys happen on Tuesdays.", "bucket": "learned"}, {"body": "I use pnpm 9."}]
        )
        assert store.supersede_with(account, second.id, other.id) == direct.get_memory(account, second.id)
        assert store.set_embedding(account, learned.id, [1, 0], "two").embedding_model == "two"
        assert store.delete_memory(account, first.id).body == "I use npm."

        turn = "When do deploys of pnpm happen?"
        reads: list[Callable[[Store], object]] = [
            lambda s: s.list_memories(account, include_superseded=True),
            lambda s: s.memory_history(account, other.id),
            lambda s: s.memories_as_of(account, other.inserted_at),
            lambda s: s.get_memory(account, other.id),
            lambda s: s.rank_memories(account, turn, embedding=[1, 0], embedding_model="two"),
            lambda s: s.recall(account, turn, embedding=[1, 0], embedding_model="two"),
            lambda s: s.recall(account, turn, maximum_attached=0),
            lambda s: s.memory_violations({"body": ""}),
            lambda s: s.list_rules(),
            lambda s: s.schema_version(),
        ]
        for read in reads:
            assert read(store) == read(direct)
        assert store.recall(account, turn, embedding=[1, 0], embedding_model="two").backend == "hybrid"


REFUSED = {
    "actor": "insert_memory('00000000-0000-4000-8000-00000000000f', 'x')",
    "rules": "insert_memory({actor}, '', 'nobody''s')",
    "target": "supersede_memory({actor}, gen_random_uuid(), 'x')",
    "id": "get_memory({actor}, gen_random_uuid())",
    "item": """insert_memories({actor}, '[{{"body": "x"}}, {{"body": "x", "tier": "glass"}}]')""",
    "argument": "list_memories({actor}, page_size => 0)",
    "type": "insert_memories({actor}, '[{{\"body\": 7}}]')",
    "claims": "challenge_memory({actor}, gen_random_uuid(), 'x')",
    "steward": "list_claims({actor})",
    "user": "create_user(language => 'klingon')",
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str, cluster: Cluster, pair: tuple[UUID, UUID]) -> None:
    """All of it but the argument's name, which PL/Proxy drops."""
    statement = f"select memstore.{REFUSED[case]}".format(actor=f"'{pair[0]}'")
    shard = cluster.claims if case in ("claims", "steward", "user") else cluster.accounts[0]
    said = []
    for conninfo in (cluster.application, shard):
        with pytest.raises(psycopg.Error) as caught:
            execute(conninfo, statement)
        said.append(caught.value.diag)
    for part in (
        "sqlstate",
        "constraint_name",
        "message_primary",
        "message_detail",
        "message_hint",
        "schema_name",
    ):
        assert (getattr(said[0], part) or None) == getattr(said[1], part)
    if said[1].sqlstate == "23514":
        assert (said[0].column_name, said[0].table_name) == (said[1].column_name, said[1].table_name)
    else:
        assert not said[0].column_name


def test_exceptions(store: Store, pair: tuple[UUID, UUID]) -> None:
    mine, foreign = pair
    memory = store.insert_memory(mine, "I use pnpm.", id=uuid4())
    with pytest.raises(MemoryNotFound):
        store.get_memory(foreign, memory.id)
    with pytest.raises(NotSupersedable):
        store.supersede_memory(foreign, memory.id, "I use yarn.")
    with pytest.raises(IdTaken):
        store.insert_memory(mine, "I use yarn.", id=memory.id)
    assert store.insert_memory(mine, "I use pnpm.", id=memory.id) == memory
    with pytest.raises(InvalidMemory) as caught:
        store.insert_memory(mine, "", bucket="no")
    assert [each.field for each in caught.value.violations] == ["bucket", "body"]
    with pytest.raises(StewardRequired):
        store.list_claims(mine)


def test_claims(cluster: Cluster, store: Store, pair: tuple[UUID, UUID], steward: UUID) -> None:
    author, reader = pair
    wombat = claim(store, author, "Wombats dig burrows.")
    challenge = store.challenge_memory(reader, wombat, "They do not.")
    store.record_admission(steward, wombat, "admitted", "Seen it.")
    assert store.memory_status(reader, wombat) == "admitted"
    store.refute_challenge(steward, challenge.id, "They do.")
    assert [record.role for record in store.list_records(reader, wombat)] == [
        "challenge",
        "admission",
        "refutation",
    ]
    assert wombat in [each.memory.id for each in store.list_claims(steward, status="admitted", page_size=200)]
    assert [each.memory.id for each in store.rank_claims(reader, "wombats burrows")] == [wombat]

    # By their ids, as other memories; by the bucket in a list.
    assert store.get_memory(author, wombat).bucket == "system"
    assert [memory.id for memory in store.list_memories(author, bucket="system")] == [wombat]
    assert store.list_memories(author) == []
    corrected = store.supersede_memory(steward, wombat, "Wombats dig long burrows.", evidence_refs=[EVIDENCE])
    assert [memory.id for memory in store.memory_history(author, wombat)] == [wombat, corrected.id]
    store.promote_memory(steward, corrected.id, "wombat-burrows", [EVIDENCE])
    other = claim(store, author, "Wombats are nocturnal.")
    assert store.delete_memory(author, other).id == other
    for odd in (" system ", "systems"):
        try:
            claim(store, author, "Wombats bite.", odd)
        except InvalidMemory as refusal:
            assert refusal.name == "memories_bucket_shape"
    for shard in cluster.accounts:
        assert execute(shard, "select count(*) from memstore.memories where bucket = 'system'") == [(0,)]
    assert execute(cluster.claims, OWN) == [(0,)]


def test_recall_with_claims(store: Store, pair: tuple[UUID, UUID], steward: UUID) -> None:
    author, reader = pair
    known = claim(store, author, "Quokkas smile.")
    store.record_admission(steward, known, "admitted", "Seen it.")
    own = [store.insert_memory(reader, f"Quokka {n} is mine.") for n in range(3)]
    recall = store.recall(reader, "Do quokkas smile?", maximum_attached=2)
    assert [memory.id for memory in recall.memories] == [own[2].id, own[1].id]
    assert [memory.id for memory in recall.claims] == [known]
    assert recall.dropped == 1
    assert recall.note is not None
    assert recall.note.splitlines() == [
        "[From memory: user, just now] Quokka 2 is mine.",
        "[From memory: user, just now] Quokka 1 is mine.",
        "[From memory: (system, as of 2026-01-02, admitted)] Quokkas smile.",
        "[From memory: 1 more left out; at most 2 memories and 2000 characters are attached]",
    ]
    # In the characters that the account's own leave: 3 times 17, and 14.
    sizes = {65: 1, 64: 0}
    for characters, claims in sizes.items():
        found = store.recall(reader, "Do quokkas smile?", maximum_attached_characters=characters)
        assert (len(found.memories), len(found.claims)) == (3, claims)
    assert store.recall(author, "Do quokkas smile?").note == recall.note.splitlines()[2]
    assert store.recall(author, " ").note is None


def test_a_batch_is_of_one_plane(store: Store, pair: tuple[UUID, UUID]) -> None:
    account = pair[0]
    item = {**SYSTEM, "body": "Emus run."}
    with pytest.raises(InvalidValue) as caught:
        store.insert_memories(account, [item, {"body": "I run."}])
    assert (caught.value.name, caught.value.sqlstate) == ("argument_invalid", "MS012")
    assert store.list_memories(account) == store.list_memories(account, bucket="system") == []
    assert [
        memory.bucket for memory in store.insert_memories(account, [item, {**item, "body": "Emus sit."}])
    ] == ["system"] * 2


class TestAccounts:
    def test_one_of_many_creators(self, cluster: Cluster) -> None:
        barrier = Barrier(6)

        def create(reference: str) -> UUID:
            with Store(cluster.application) as store:
                store.schema_version()
                barrier.wait()
                return store.create_user(external_ref=reference)

        for reference in ("race-1", "race-2"):
            with ThreadPoolExecutor(6) as threads:
                (account,) = set(threads.map(create, [reference] * 6))
            home(cluster, account)
            assert len(execute(cluster.claims, "select from memstore.users where id = %s", account)) == 1

    def test_ids_are_the_directorys(self, store: Store, pair: tuple[UUID, UUID]) -> None:
        account = store.create_user(id=uuid4(), external_ref="twice")
        assert store.create_user(external_ref="twice") == store.find_user("twice") == account
        with pytest.raises(IdTaken):
            store.create_user(id=uuid4(), external_ref="twice")
        assert store.find_user("nobody") is None

    def test_a_creation_cut_short(self, cluster: Cluster, store: Store) -> None:
        (account,) = execute(cluster.claims, "select memstore.create_user(external_ref => 'short')")[0]
        with pytest.raises(ActorUnknown):
            store.insert_memory(account, "x")
        assert store.create_user(external_ref="short") == account
        assert store.insert_memory(account, "x").user_id == account

    def test_erasure(self, cluster: Cluster, store: Store, pair: tuple[UUID, UUID]) -> None:
        account = store.create_user(external_ref="leaver")
        store.insert_memory(account, "I am here.")
        claim(store, account, "Everybody is here.")
        assert store.delete_user(account) == 2
        assert store.find_user("leaver") is None
        for shard in (cluster.claims, *cluster.accounts):
            assert not execute(shard, "select from memstore.memories where user_id = %s", account)
            assert not execute(shard, "select from memstore.users where id = %s", account)
        with pytest.raises(ActorUnknown):
            store.delete_user(account)

    def test_an_erasure_cut_short(self, cluster: Cluster, store: Store) -> None:
        account = store.create_user(external_ref="half-gone")
        claim(store, account, "Halves are enough.")
        execute(cluster.accounts[home(cluster, account)], "select memstore.delete_user(%s)", account)
        assert store.find_user("half-gone") == account
        assert store.delete_user(account) == 1
        assert store.find_user("half-gone") is None

    def test_an_erased_author_stays_erased(
        self, cluster: Cluster, store: Store, pair: tuple[UUID, UUID]
    ) -> None:
        author, challenger = pair
        store.challenge_memory(challenger, claim(store, author, "Geese are kind."), "Not mine.")
        store.delete_user(challenger)
        with pytest.raises(ActorUnknown):
            store.create_user(id=challenger)
        for shard in cluster.accounts:
            assert not execute(shard, "select from memstore.users where id = %s", challenger)


def test_privileges(cluster: Cluster, pair: tuple[UUID, UUID]) -> None:
    for statement in (
        "select accounts.list_memories('{}')",
        "select claims.list_claims('{}')",
        "select proxy.shard_of('{}')",
        "create function memstore.f() returns integer language plproxy as $$ cluster 'claims'; $$",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            execute(cluster.application, statement.format(pair[0]))
    assert execute(cluster.application, "select distinct umoptions from pg_user_mappings") == [(None,)]
    functions = """
        select pg_get_userbyid(proowner)::text, prosecdef, proconfig from pg_proc
        where pronamespace = 'memstore'::regnamespace group by 1, 2, 3
    """
    assert execute(cluster.proxy, functions) == [(LOGIN, True, ["search_path=pg_catalog, pg_temp"])]
    assert execute(cluster.proxy, "select rolsuper from pg_roles where rolname = %s", LOGIN) == [(False,)]


def test_without_the_claims_shard(cluster: Cluster, store: Store, pair: tuple[UUID, UUID]) -> None:
    account = pair[1]
    with out_of_reach(cluster, "claims", "p0"), Store(psycopg.connect(cluster.application)) as late:
        # A store that is there already; a new one asks the claims shard for the schema's version.
        store.insert_memory(account, "I use pnpm.")
        recall = store.recall(account, "pnpm")
        assert [memory.body for memory in recall.memories] == ["I use pnpm."]
        assert recall.note == "[From memory: user, just now] I use pnpm."
        for call in (
            store.create_user,
            lambda: store.find_user("x"),
            lambda: claim(store, account, "x"),
            late.list_rules,
        ):
            with pytest.raises(StoreUnavailable) as caught:
                call()
            assert caught.value.sqlstate == "08006"
    assert store.find_user("x") is None


def test_without_an_accounts_shard(cluster: Cluster, store: Store, pair: tuple[UUID, UUID]) -> None:
    with out_of_reach(cluster, "accounts", "p1"):
        with pytest.raises(StoreUnavailable):
            store.list_memories(pair[1])
        assert store.recall(pair[1], "pnpm").backend == "unavailable"
        assert store.list_memories(pair[0]) == []
    assert store.list_memories(pair[1]) == []


def test_a_call_is_a_transaction(cluster: Cluster, pair: tuple[UUID, UUID]) -> None:
    with psycopg.connect(cluster.application) as connection, Store(connection) as store:
        store.insert_memory(pair[0], "I stay.")
        connection.rollback()
        assert [memory.body for memory in store.list_memories(pair[0])] == ["I stay."]


def test_a_store_is_no_proxy(cluster: Cluster) -> None:
    """What writes the API harms no database but a proxy."""
    api = schema.sql_dir() / "examples" / "sharding" / "api.sql"
    psql = [program("psql"), "-qAtX", "-d"]
    text = subprocess.run(
        [*psql, cluster.claims, "-f", api], text=True, capture_output=True, check=True
    ).stdout
    result = subprocess.run([*psql, cluster.claims], input=text, text=True, capture_output=True)
    assert "This database is no proxy" in result.stderr
    assert execute(cluster.claims, "select memstore.schema_version()")


def test_more_shards(cluster: Cluster, server: Server, store: Store) -> None:
    """Copies stand for the promoted replicas."""
    accounts = [store.create_user() for _ in range(16)]
    kept = {account: store.insert_memory(account, f"I am {account}.") for account in accounts}
    with ExitStack() as stack:
        shards = list(cluster.accounts)
        for shard in cluster.accounts:
            name = conninfo_to_dict(shard)["dbname"]
            copy, admin = f"{name}_copy", admin_conninfo(server)
            execute(admin, "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", name)
            execute(admin, f"create database {copy} template {name}")
            stack.callback(execute, admin, f"drop database {copy} with (force)")
            shards.append(make_conninfo(shard, dbname=copy))
        (on_proxy,) = [block.code for block in SQL if "alter server" in block.code]
        for place, shard in zip(("host=d dbname=agents", "host=e dbname=agents"), shards[2:], strict=True):
            on_proxy = on_proxy.replace(place, written(shard))
        execute(cluster.proxy, on_proxy)
        stack.callback(execute, cluster.proxy, "alter server accounts options (drop p2, drop p3)")
        (on_shard,) = [block.code for block in SQL if "& 3" in block.code]
        for number, shard in enumerate(shards):
            execute(shard, on_shard.replace("<> 0", f"<> {number}"))
        four = Cluster(cluster.proxy, cluster.claims, tuple(shards), cluster.application)
        assert {home(four, account) for account in accounts} == {0, 1, 2, 3}
        for account, memory in kept.items():
            assert store.list_memories(account) == [memory]
            store.insert_memory(account, "I am still here.")
        for shard in shards:
            assert not execute(shard, "select from memstore.verify_store() where violations > 0")
