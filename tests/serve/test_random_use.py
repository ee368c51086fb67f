"""Several accounts use tools and pages at random: nothing fails or shows foreign texts, the store stays."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import pytest

from tests.databases import LONG, SEEDS
from tests.serve.sites import SCOPES, Site
from tests.sql.support import rows

STEPS = 3_000 if LONG else 250
EVIDENCE = [{"kind": "url", "ref": "r", "digest": "d"}]
FIELDS = [("evidence_kind", "url"), ("evidence_ref", "r"), ("evidence_digest", "d")]


class Person:
    """An account with a token and a session."""

    def __init__(self, site: Site, number: int) -> None:
        self.mark = f"mark-{number}-"
        self.account: UUID = site.account(f"random-{number}", steward=number == 0)
        scopes = SCOPES if number == 0 else ["recall", "remember", "forget", "claims"]
        self.token = site.token(self.account, *scopes)
        self.session = site.session(self.account, *scopes)


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
def test_random_use(site: Site, seed: int) -> None:
    people = [Person(site, number) for number in range(4)]
    ids = [str(uuid4())]
    claims = [str(uuid4())]

    def use(step: int) -> None:
        chance = random.Random(f"{seed} {step}")
        person = chance.choice(people)
        id, claim = chance.choice(ids[-20:]), chance.choice(claims[-8:])
        body = f"{person.mark}{step} port"
        pages = [
            "/memories", "/memories?q=port", "/memories?q=port&past=1", "/recall?turn=port", "/claims",
            "/claims/queue", f"/memories/{id}", f"/claims/{claim}", "/access", "/export", "/store",
        ]  # fmt: skip
        forms: list[tuple[str, object]] = [
            ("/memories", {"body": body, "id": chance.choice([str(uuid4()), id])}),
            (f"/memories/{id}/correct", {"body": body}),
            (f"/memories/{id}/forget", {"history": chance.choice(["", "1"])}),
            (
                "/memories/forget",
                [("chosen", each) for each in ids[-3:]] + chance.choice([[], [("sure", "1")]]),
            ),
            (f"/memories/{claim}/forget", {}),
            ("/claims", [("body", body), ("slug", "sys:x"), ("tier", "glass"), *FIELDS]),
            (f"/claims/{claim}/challenge", [("ground", "No."), *FIELDS]),
            (f"/claims/{claim}/verdict", {"verdict": chance.choice(["admitted", "rejected"]), "ground": "x"}),
            (f"/claims/{claim}/promote", [("stance", "a-b"), *FIELDS]),
        ]
        tools: list[tuple[str, dict[str, object]]] = [
            ("remember", {"body": body}),
            ("recall", {"query": "Which port?"}),
            ("correct", {"target": id, "body": body}),
            ("forget", {"id": id}),
            ("list", {}),
            ("history", {"id": id}),
            ("propose", {"body": body, "slug": "sys:y", "tier": "ledger", "evidence_refs": EVIDENCE}),
            ("challenge", {"memory_id": claim, "ground": "No.", "evidence_refs": EVIDENCE}),
        ]
        match chance.randrange(3):
            case 0:
                answer = site.get(chance.choice(pages), person.session)
                said, allowed = answer.text, {200, 403, 404, 422}
            case 1:
                path, fields = chance.choice(forms)
                answer = site.post(path, person.session, fields)
                said, allowed = answer.text, {200, 303, 403, 404, 422}
                if "/claims/" in answer.headers.get("location", ""):
                    claims.append(answer.headers["location"].rpartition("/")[2])
            case _:
                name, arguments = chance.choice(tools)
                answer = site.rpc("tools/call", {"name": name, "arguments": arguments}, person.token)
                said, allowed = answer.text, {200}
                made = answer.json["result"].get("structuredContent", {})
                if name in ("remember", "correct", "propose") and made:
                    (claims if made["bucket"] == "system" else ids).append(made["id"])
        assert answer.status in allowed, (step, answer.status)
        assert "internal_error" not in said, step
        if person is not people[0]:  # a steward reads all claims
            foreign = {other.mark for other in people} - {person.mark}
            assert not [mark for mark in foreign if mark in said], step

    # Four at once, as people and agents are.
    with ThreadPoolExecutor(4) as pool:
        for _ in pool.map(use, range(STEPS)):
            pass
    assert rows(site.db, "select invariant, example from memstore.verify_store() where violations > 0") == []
