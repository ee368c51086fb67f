"""Calls every method of whichever client is imported. Run by tests as a program, with a conninfo,
a role, and the invariants that needn't hold.

Prints a JSON object: the package's folder, the client's schema version, the warnings that it logged, the
methods that were called, and those that were not. Where the schema is none for it, it ends with the refusal.
"""

import json
import logging
import sys
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from uuid import uuid4

import memstore

try:
    from memstore.api import calls
except ImportError:  # before 0.2
    from memstore import calls  # type: ignore[attr-defined, no-redef]

EVIDENCE = [{"kind": "url", "ref": "r", "digest": "d"}]
LIFE = {"close", "run"}


class Recorder:
    """The store, with a note of what was called."""

    def __init__(self, store: memstore.Store) -> None:
        self.store = store
        self.called: set[str] = set()

    def __getattr__(self, name: str):  # type: ignore[no-untyped-def]
        self.called.add(name)
        return getattr(self.store, name)


def work(store: Recorder, role: str, *but: str) -> None:
    unique = uuid4().hex
    actor = store.create_user(external_ref=f"client-{unique}")
    assert store.find_user(f"client-{unique}") == actor
    store.configure(maximum_attached=7)
    store.set_maximum_live_memories(actor, 100)
    store.register_embedding_model(f"model-{unique}", 2)

    first = store.insert_memory(actor, "I use npm.", embedding=[1, 0], embedding_model=f"model-{unique}")
    second, third = store.insert_memories(actor, [{"body": "Tests run on Friday."}, {"body": "On Fridays."}])
    new = store.supersede_memory(actor, first.id, "I use pnpm, not npm.")
    store.supersede_with(actor, second.id, third.id)
    assert store.get_memory(actor, first.id).superseded_by_id == new.id
    assert {memory.id for memory in store.list_memories(actor)} == {new.id, third.id}
    assert [memory.id for memory in store.memory_history(actor, new.id)] == [first.id, new.id]
    later = datetime.now(UTC) + timedelta(days=1)
    assert {memory.id for memory in store.memories_as_of(actor, later)} == {new.id, third.id}
    assert third.id in {memory.id for memory in store.memories_to_embed(f"model-{unique}", page_size=10000)}
    store.set_embedding(actor, new.id, [0, 1], f"model-{unique}")
    assert [violation.field for violation in store.memory_violations({"body": " "})][:1]
    assert store.list_rules()
    assert store.rank_memories(actor, "pnpm")[0].memory.id == new.id
    turn = store.recall(actor, "pnpm", embedding=[0, 1], embedding_model=f"model-{unique}")
    assert "I use pnpm, not npm." in turn.note
    store.delete_memory(actor, third.id)
    (imported,) = store.import_memories(actor, [{"id": str(uuid4()), "body": "Imported."}])
    assert imported.body == "Imported."

    steward = store.create_user()
    store.set_steward(steward, True)
    claim = store.insert_memory(
        actor,
        "A claim.",
        bucket="system",
        slug=f"sys:{unique}",
        tier="glass",
        as_of=date(2026, 1, 2),
        admission="candidate",
        evidence_refs=EVIDENCE,
    )
    store.record_admission(steward, claim.id, "admitted", "Because.")
    challenge = store.challenge_memory(actor, claim.id, "No.", evidence_refs=EVIDENCE)
    assert store.memory_status(actor, claim.id) == "suspended"
    store.refute_challenge(steward, challenge.id, "Yes.")
    assert store.memory_status(actor, claim.id) == "admitted"
    assert len(store.list_records(actor, claim.id)) == 3
    assert claim.id in {item.memory.id for item in store.list_claims(steward)}
    store.rank_claims(actor, "claim")
    store.promote_memory(steward, claim.id, "a-stance", EVIDENCE)

    if hasattr(store.store, "find_ids"):
        assert store.find_ids(actor, str(new.id)[:8]) == [new.id]
    if hasattr(store.store, "delete_scope"):
        scoped = store.insert_memory(actor, "Scoped.", scope="project:x", metadata={"k": 1})
        assert store.list_memories(actor, scopes=["project:x"], filter={"k": 1}) == [scoped]
        assert store.delete_scope(actor, "project:x") == 1
    if hasattr(store.store, "export_account"):
        assert store.export_account(actor) and list(store.export_memories(actor))
        assert store.store_statistics()

    if hasattr(store.store, "similar_memories"):
        assert new.id in {memory.id for memory in store.iterate_memories(actor)}
        assert store.similar_memories(actor, new.body)[0].memory.id == new.id
    if hasattr(store.store, "search_memories"):
        assert store.get_user(actor).external_ref == f"client-{unique}"
        assert [memory.id for memory in store.search_memories(actor, "pnpm")] == [new.id]
        assert store.explain_recall(actor, "pnpm")[0].outcome == "attached"
        chain = store.memory_histories(actor, [new.id])
        assert [member.memory.id for member in chain] == [first.id, new.id]
        assert store.delete_history(actor, new.id) == 2
    if hasattr(store.store, "put_items"):
        path = {"namespace": ["a", "b"], "key": "k"}
        put = {**path, "value": {"text": "An item."}, "ttl_seconds": 3600}
        assert store.item_violations(put) == []
        store.set_maximum_items(actor, maximum_items=10)
        (version,) = store.put_items(actor, [put])
        assert [item.version for item in store.get_items(actor, [path])] == [version]
        assert store.renew_items(actor, [path]) == 1
        assert [found.item.key for found in store.search_items(actor, query="item")] == ["k"]
        assert store.list_item_namespaces(actor) == [("a", "b")]
        exported = store.export_items(actor)
        past = {**path, "key": "past", "value": {}, "ttl_seconds": 1, "expires_at": "2026-01-02T03:04:05Z"}
        assert store.import_items(actor, [*exported, past]) == 1
        assert store.delete_expired_items(actor) == 1
        assert store.import_items(actor, [past]) == 1
        assert store.prune_items() >= 1
    if hasattr(store.store, "create_token"):
        store.grant_serve(role)
        store.revoke_api(role)
        token = store.create_token(actor, "An agent.")
        digest = sha256(token.token.encode()).digest()
        assert store.authenticate_token(digest).id == token.id
        assert store.authorize_call(digest, "recall") == actor
        login, session = store.create_login(actor), sha256(unique.encode()).digest()
        assert store.redeem_login(sha256(login.token.encode()).digest(), session).actor == actor
        delegated = store.delegate_token(session, "Another agent.")
        assert {token.id, delegated.id} <= {each.id for each in store.list_tokens(actor)}
        assert store.revoke_token(actor, token.id)
    if hasattr(store.store, "list_own_claims"):
        assert store.count_claims(steward)
        own = store.insert_memory(
            actor,
            "Another claim.",
            bucket="system",
            slug=f"sys:own-{unique}",
            tier="glass",
            as_of=date(2026, 1, 2),
            admission="candidate",
            evidence_refs=EVIDENCE,
        )
        assert [item.memory.id for item in store.list_own_claims(actor)] == [own.id]

    store.grant_api(role)
    store.revoke_api(role)
    if hasattr(store.store, "bind_role"):
        store.bind_role(role, actor)
        assert [each.accounts for each in store.list_roles() if each.role == role] == [(actor,)]
        store.unbind_role(role)
    if hasattr(store.store, "rebuild_words"):
        store.rebuild_words()
    if hasattr(store.store, "verify_store"):
        broken = [item for item in store.verify_store() if item.violations and item.invariant not in but]
        assert not broken, broken
    assert store.schema_version() >= 1
    assert store.delete_user(actor) > 0
    store.forget_embedding_model(f"model-{unique}")


warnings: list[str] = []
handler = logging.Handler()
handler.emit = lambda record: warnings.append(record.getMessage())  # type: ignore[method-assign]
logging.getLogger("memstore").addHandler(handler)
methods = {name for name in dir(memstore.Store) if not name.startswith("_")} - LIFE
with memstore.Store(sys.argv[1]) as opened:
    recorder = Recorder(opened)
    try:
        work(recorder, *sys.argv[2:])
    except memstore.SchemaOutdated as refusal:
        sys.exit(f"{refusal.name}: {refusal} {refusal.hint}")
print(
    json.dumps(
        {
            "package": memstore.__file__,
            "version": calls.SCHEMA_VERSION,
            "warnings": warnings,
            "called": sorted(recorder.called),
            "left": sorted(methods - recorder.called),
        }
    )
)
