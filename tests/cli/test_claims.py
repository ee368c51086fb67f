"""The life of a claim by command: proposed, admitted, challenged, answered, promoted; and who may do what."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from psycopg.conninfo import make_conninfo

from tests.cli.running import PRIVATE, Db, Run, at_terminal, complaints, documents, invoke

BODY = "pnpm installs need the --frozen-lockfile flag in CI."
PAGE = "url:https://user@pnpm.io:443/cli/install?a=b,c#d@sha256:90ab"
PAGE_REFS = [{"kind": "url", "ref": "https://user@pnpm.io:443/cli/install?a=b,c#d", "digest": "sha256:90ab"}]
SHAPE = ["--slug", "sys:pnpm-ci", "--tier", "glass", "--evidence", "receipt:ci run 118@sha256:5f2c"]

As = Callable[..., list[Any]]


@pytest.fixture
def as_(run: Run) -> As:
    """Runs a command as an account, and gives its JSON."""

    def run_as(account: str, *arguments: str, code: int = 0) -> list[Any]:
        return documents(run("--json", "--account", account, *arguments, code=code))

    run("steward", "steward")
    return run_as


@pytest.fixture
def claim(as_: As) -> str:
    """A claim by the account author."""
    (memory,) = as_("author", "propose", BODY, *SHAPE, "--as-of", "2026-08-25")
    return str(memory["id"])


def test_the_life_of_a_claim(run: Run, as_: As, claim: str) -> None:
    def note() -> str:
        return run("recall", "Why does pnpm fail in CI?", "--account", "reader").stdout

    def status() -> str:
        return str(as_("author", "show", claim)[0]["status"])

    run("configure", "system_recall_enabled=on")
    run("remember", "something else", "--account", "reader", "--bucket", "learned")
    assert (status(), note()) == ("candidate", "")
    (queued,) = as_("steward", "claims", "--status", "candidate")
    assert (queued["memory"]["id"], queued["status"], queued["open_challenges"]) == (claim, "candidate", 0)

    (verdict,) = as_("steward", "admit", claim, "The run shows it.")
    assert (verdict["role"], verdict["verdict"], verdict["status"]) == ("admission", "admitted", "admitted")
    assert note() == f"[From memory: (system, as of 2026-08-25, admitted)] {BODY}\n"
    (answer,) = as_("reader", "recall", "Why does pnpm fail in CI?")
    assert answer["memories"] == []
    assert [each["slug"] for each in answer["claims"]] == ["sys:pnpm-ci"]

    (doubt,) = as_("reader", "challenge", claim, "It seems so to me.")
    assert (doubt["evidence_refs"], doubt["status"]) == (None, "admitted")
    assert (doubt["effect"], verdict["effect"]) == ("without_evidence", None)
    (challenge,) = as_("reader", "challenge", claim, "It is the default in CI.", "--evidence", PAGE)
    assert (challenge["evidence_refs"], challenge["status"]) == (PAGE_REFS, "suspended")
    assert challenge["effect"] == "in_effect"
    assert (status(), note()) == ("suspended", "")
    (queued,) = as_("steward", "claims")
    assert (queued["status"], queued["open_challenges"]) == ("suspended", 2)

    (refutation,) = as_("steward", "refute", challenge["id"], "That page is about another version.")
    assert (refutation["challenge_id"], refutation["status"]) == (challenge["id"], "admitted")
    (argument,) = as_("reader", "records", claim)
    assert (argument["memory_id"], argument["status"], argument["memory"]) == (claim, "admitted", None)
    assert [(record["role"], record["state"], record["effect"]) for record in argument["records"]] == [
        ("admission", "admitted", None),
        ("challenge", "open", "without_evidence"),
        ("challenge", "refuted", "refuted"),
    ]
    (answered,) = argument["records"][2]["refutations"]
    assert answered["ground"] == "That page is about another version."

    end = ["promote", claim, "pnpm-in-ci", "--evidence", "url:https://example.org/a@sha256:77d0"]
    (tombstone,) = as_("steward", *end, "--as-of", "2026-09-01", "--entity", "pnpm")
    assert (tombstone["stance"], tombstone["entity"], tombstone["as_of"]) == (
        "pnpm-in-ci",
        "pnpm",
        "2026-09-01",
    )
    assert note() == ""
    assert as_("steward", "claims") == []
    (argument,) = as_("author", "records", claim)
    assert argument["memory"]["superseded_by_id"] == tombstone["id"]
    assert [len(record["refutations"]) for record in argument["records"]] == [0, 1, 1]
    assert as_("steward", "show", tombstone["id"])[0]["status"] is None


def test_rejected(as_: As, claim: str) -> None:
    (verdict,) = as_("steward", "reject", claim, "The run shows the opposite.")
    assert (verdict["verdict"], verdict["status"]) == ("rejected", "rejected")
    assert as_("steward", "claims", "--status", "admitted") == []


def test_proposing(run: Run, as_: As) -> None:
    id = str(uuid4())
    options = [*SHAPE, "--entity", "pnpm", "--source", "review 7", "--language", "simple", "--id", id]
    json_piece = json.dumps({"kind": "memory", "ref": "a@b", "digest": "x@y"})
    (memory,) = as_("author", "propose", BODY, *options, "--evidence", PAGE, "--evidence", json_piece)
    assert (memory["bucket"], memory["admission"], memory["tier"]) == ("system", "candidate", "glass")
    assert (memory["entity"], memory["source_ref"], memory["language"]) == ("pnpm", "review 7", "simple")
    assert memory["evidence_refs"] == [
        {"kind": "receipt", "ref": "ci run 118", "digest": "sha256:5f2c"},
        *PAGE_REFS,
        {"kind": "memory", "ref": "a@b", "digest": "x@y"},
    ]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", memory["as_of"])
    shown = run("show", id, "--account", "author").stdout
    assert "status\tcandidate\n" in shown
    assert run("propose", "-", *SHAPE, stdin=f"{BODY}\n").stdout.endswith(f"\t{BODY}\n")


def test_all_that_a_proposal_lacks_is_told(run: Run) -> None:
    lines = complaints(run("propose", PRIVATE, code=1))
    assert [re.split(r"[,:] ", line)[0] for line in lines] == [
        f"A system memory needs {field}" for field in ("a slug", "a tier", "evidence")
    ]
    (line,) = complaints(run("propose", PRIVATE, *SHAPE, "--evidence", "rumour:x@y", code=1))
    assert "kind (receipt, memory or url)" in line


def test_a_digest_is_computed_of_a_text_and_a_file(run: Run, as_: As, tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_bytes(b"all green\n\xff")
    given = ["--evidence", "receipt:All is green.", "--evidence", f"receipt:@{log}"]
    (memory,) = as_("author", "propose", BODY, "--slug", "sys:a", "--tier", "glass", *given)
    assert memory["evidence_refs"] == [
        {"kind": "receipt", "ref": ref, "digest": f"sha256:{hashlib.sha256(content).hexdigest()}"}
        for ref, content in (("All is green.", b"All is green."), (str(log), log.read_bytes()))
    ]
    (line,) = complaints(run("propose", BODY, *SHAPE, "--evidence", f"receipt:@{tmp_path}/none", code=1))
    assert line.startswith(f"{tmp_path}/none: ")


@pytest.mark.parametrize("wrong", ["url", "url:https://example.org", "https@x", '{"kind"', "{]"])
def test_evidence_that_cannot_be_read(run: Run, wrong: str) -> None:
    (line,) = complaints(run("propose", PRIVATE, *SHAPE, "--evidence", wrong, code=2))
    assert line.startswith("--evidence")
    run("propose", PRIVATE, *SHAPE, "--as-of", "yesterday", code=2)


def test_a_correction_of_a_claim(run: Run, as_: As, claim: str) -> None:
    as_("steward", "admit", claim, "The run shows it.")
    as_("reader", "challenge", claim, "It is the default in CI.", "--evidence", PAGE)
    assert len(complaints(run("--account", "author", "correct", claim, PRIVATE, code=1))) == 1
    changes = ["--evidence", PAGE, "--entity", "pnpm", "--as-of", "2026-09-01"]
    (new,) = as_("steward", "correct", claim, "pnpm installs are frozen in CI.", *changes)
    assert (new["slug"], new["entity"], new["as_of"]) == ("sys:pnpm-ci", "pnpm", "2026-09-01")
    assert new["evidence_refs"] == PAGE_REFS
    (argument,) = as_("reader", "records", claim)
    assert (argument["status"], argument["records"][1]["state"]) == ("admitted", "refuted")


# Who may, and what is found.


def test_who_is_no_steward(run: Run, as_: As, claim: str) -> None:
    as_("author", "challenge", claim, "I was wrong.", "--evidence", PAGE)
    for command in (
        ["claims"],
        ["admit", claim, PRIVATE],
        ["reject", claim[:8], PRIVATE],
        ["refute", str(uuid4()), PRIVATE],
        ["refute", "aaaa", PRIVATE],
        ["promote", claim, "pnpm-in-ci", "--evidence", PAGE],
    ):
        assert complaints(run("--account", "author", *command, code=1)) == [
            "Only a steward may do this. The database's owner marks stewards: memstore steward NAME."
        ]
        assert complaints(run("--account", "nobody", *command, code=1)) == ["There is no account nobody."]
        assert complaints(run(*command, code=1)) == ["There is no account default."]


def test_ids_by_their_beginnings(run: Run, as_: As, claim: str) -> None:
    short = claim[:8]
    no_claim = "There is no such claim. See memstore claims; an account that is no steward needs the full id."
    assert complaints(run("--account", "reader", "challenge", short, PRIVATE, code=1)) == [no_claim]
    assert complaints(run("--account", "reader", "records", str(uuid4()), code=1)) == [no_claim]
    as_("steward", "admit", short.upper(), "The run shows it.")
    (challenge,) = as_("author", "challenge", short, "I was wrong.", "--evidence", PAGE)
    assert len(as_("author", "records", short)[0]["records"]) == 2
    assert as_("steward", "refute", challenge["id"][:8], "No, you were right.")[0]["status"] == "admitted"
    assert complaints(run("--account", "steward", "refute", "ffffffff", PRIVATE, code=1)) == [
        "There is no such challenge. See memstore records, of the claim that it is about."
    ]
    # Its author was no steward, and it is in the queue no more.
    assert "first 4 characters" in run("--account", "steward", "admit", "aaa", PRIVATE, code=2).stderr
    ids = [f"aaaa{n}bbb-0000-4000-8000-000000000000" for n in (1, 2)]
    for id in ids:
        as_("author", "propose", BODY, *SHAPE, "--id", id)
    assert complaints(run("--account", "steward", "admit", "aaaa", PRIVATE, code=1)) == [
        "2 ids begin so. Give more of the id."
    ]


def test_refusals_of_records(run: Run, as_: As, claim: str) -> None:
    memory = as_("author", "remember", "I use pnpm.")[0]["id"]
    for arguments in (["author", "challenge", memory], ["steward", "admit", memory]):
        line = complaints(run("--account", *arguments, PRIVATE, code=1))[0]
        assert line.startswith("There is no such claim.")
    blank = complaints(run("--account", "author", "challenge", claim, " ", code=1))
    assert blank == ["A record's ground has 1 to 2,000 characters and is not blank."]
    promote = ["--account", "steward", "promote", claim]
    assert "needs a stance" in run(*promote, " ", "--evidence", PAGE, code=1).stderr
    assert len(complaints(run(*promote, "Not A Stance", code=1))) == 2
    assert complaints(run("--account", "steward", "claims", "--status", "new", code=1))[0].startswith(
        "`status` must be "
    )


def test_the_ceiling_of_challenges(run: Run, db: Db, as_: As, claim: str) -> None:
    as_("reader", "remember", "one")
    db.execute(
        "select memstore.challenge_memory(memstore.find_user('reader'), %s, 'Wrong.')"
        " from generate_series(1, 200)",
        [claim],
    )
    (line,) = complaints(run("--account", "reader", "challenge", claim, PRIVATE, code=1))
    assert line.endswith("of challenges, wait for answers.")


# What is printed.


def test_claims_are_tab_separated_and_oldest_first(run: Run, as_: As) -> None:
    ids = [as_("author", "propose", f"claim {n}", *SHAPE)[0]["id"] for n in range(3)]
    as_("reader", "challenge", ids[1], "No.")
    rows = [line.split("\t") for line in run("--account", "steward", "claims").stdout.splitlines()]
    assert [(id, slug, status, open, body) for id, slug, status, open, _, body in rows] == [
        (ids[n], "sys:pnpm-ci", "candidate", "1" if n == 1 else "0", f"claim {n}") for n in range(3)
    ]
    some = run("--account", "steward", "claims", "--limit", "2", "--json")
    assert [each["memory"]["id"] for each in documents(some)] == ids[:2]
    assert complaints(some) == [f"There are more: go on with --after {ids[1]}"]
    rest = run("--account", "steward", "claims", "--after", ids[1])
    assert rest.stdout.startswith(ids[2])
    assert len(rest.stdout.splitlines()) == 1


def test_all_pages_of_claims(run: Run, db: Db, as_: As, claim: str) -> None:
    db.execute("select memstore.set_maximum_live_memories(memstore.find_user('author'), 500)")
    db.execute(
        "insert into memstore.memories"
        " (user_id, bucket, body, language, slug, tier, as_of, admission, evidence_refs)"
        " select user_id, bucket, 'claim ' || n, language, slug, tier, as_of, admission, evidence_refs"
        " from memstore.memories, generate_series(1, 401) n"
    )
    assert len({each["memory"]["id"] for each in as_("steward", "claims")}) == 402


def test_records_in_a_pipe_and_the_outcome_of_a_step(run: Run, as_: As, claim: str) -> None:
    doubt = run("--account", "reader", "challenge", claim, "No.").stdout
    assert doubt.endswith("\tcandidate\twithout_evidence\n")
    challenge = run("--account", "reader", "challenge", claim, "Never\nso.", "--evidence", PAGE).stdout
    assert re.fullmatch(r"[0-9a-f-]{36}\tcandidate\tnot_admitted\n", challenge)
    admitted = run("--account", "steward", "admit", claim, "The run\tshows it.").stdout
    assert re.fullmatch(r"[0-9a-f-]{36}\tsuspended\n", admitted)
    first = as_("reader", "records", claim)[0]["records"][0]["id"]
    run("--account", "steward", "refute", first, "Yes.")
    rows = [line.split("\t") for line in run("--account", "reader", "records", claim).stdout.splitlines()]
    assert [(row[1], row[2], *row[5:]) for row in rows] == [
        ("challenge", "refuted", "No."),
        ("refutation", "", "Yes."),
        ("challenge", "in_effect", "Never\\nso.", PAGE),
        ("admission", "admitted", "The run\\tshows it."),
    ]
    assert rows[0][0] == first


def test_the_argument_at_a_terminal(run: Run, db_url: str, as_: As, claim: str) -> None:
    def shown(account: str, *arguments: str) -> str:
        return re.sub(
            r"\x1b\[[0-9;]*m", "", at_terminal(db_url, "--account", account, *arguments, columns=120)
        )

    assert shown("steward", "records", claim) == (
        f"candidate  sys:pnpm-ci, just now, live: {BODY}\n└── no records yet\n"
    )
    as_("steward", "admit", claim, "The run shows it.")
    (challenge,) = as_("reader", "challenge", claim, "No \x1b[31m[bold]way.", "--evidence", PAGE)
    (doubt,) = as_("author", "challenge", claim, "Hm.")
    table = shown("steward", "claims")
    assert table.split()[:6] == ["id", "slug", "status", "challenges", "written", "body"]
    assert re.search(rf"^{claim[:8]} +sys:pnpm-ci +suspended +2 +just now +pnpm", table, re.MULTILINE)
    told = shown("steward", "refute", challenge["id"][:8], "Yes.")
    assert re.fullmatch(r"refuted +[0-9a-f-]{36} +the claim is now admitted *\n", told)
    lines = [line.rstrip() for line in shown("reader", "records", claim).splitlines()]
    (steward, author) = (db_account(as_, name)[:8] for name in ("steward", "author"))
    assert lines == [
        f"admitted  {claim}",
        f"├── admitted by {steward}, just now: The run shows it.",
        f"├── refuted challenge {challenge['id'][:8]} by you, just now: No \\x1b[31m[bold]way.",
        f"│   ├── {PAGE}",
        f"│   └── refuted by {steward}, just now: Yes.",
        f"└── open challenge {doubt['id'][:8]} by {author}, just now, without evidence: Hm.",
    ]
    assert shown("steward", "claims", "--status", "rejected") == "There are no claims.\n"


def test_what_became_of_a_claim_and_of_its_challenges(run: Run, db_url: str, as_: As, claim: str) -> None:
    def shown(*arguments: str) -> list[str]:
        text = at_terminal(db_url, "--account", "author", "records", *arguments, columns=120)
        return [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()]

    (other,) = as_("author", "propose", "Another.", *SHAPE)
    for each in (claim, other["id"]):
        as_("steward", "admit", each, "Yes.")
        as_("reader", "challenge", each, "No.", "--evidence", PAGE)
    # The reader's share of two claims is one.
    title, _, challenge, _ = shown(claim)
    assert title == f"suspended  sys:pnpm-ci, just now, live: {BODY}"
    assert challenge.endswith(", just now, in effect: No.")
    title, _, challenge, _ = shown(other["id"])
    assert title.startswith("admitted  ")
    assert challenge.endswith(", just now, queued: No.")

    as_("steward", "promote", claim, "pnpm-in-ci", "--evidence", PAGE)
    assert shown(claim)[0] == f"admitted  sys:pnpm-ci, just now, promoted to pnpm-in-ci: {BODY}"
    (new,) = as_("steward", "correct", other["id"], "Better.", "--evidence", PAGE)
    assert (
        shown(other["id"])[0] == f"admitted  sys:pnpm-ci, just now, superseded by {new['id'][:8]}: Another."
    )
    as_("steward", "forget", new["id"])
    assert ", superseded, its replacement is gone: Another." in shown(other["id"])[0]


def test_each_of_several_open_challenges_tells_its_effect(run: Run, db_url: str, as_: As, claim: str) -> None:
    def shown(*arguments: str) -> list[str]:
        text = at_terminal(db_url, *arguments, columns=160)
        return [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()]

    def effects() -> list[tuple[str, str, str]]:
        (argument,) = as_("author", "records", claim)
        return [(each["ground"], each["state"], each["effect"]) for each in argument["records"][1:]]

    as_("steward", "admit", claim, "Yes.")
    made = [
        as_(account, "challenge", claim, ground, "--evidence", PAGE)[0]
        for account, ground in (("reader", "One."), ("reader", "Two."), ("other", "Three."))
    ]
    assert [each["effect"] for each in made] == ["in_effect", "queued", "in_effect"]
    assert effects() == [
        ("One.", "open", "in_effect"),
        ("Two.", "open", "queued"),
        ("Three.", "open", "in_effect"),
    ]
    title, _, one, _, two, _, three, _ = shown("records", claim, "--account", "author")
    assert title.startswith("suspended  ")
    assert one.endswith(", just now, in effect: One.")
    assert two.endswith(", just now, queued: Two.")
    assert three.endswith(", just now, in effect: Three.")

    as_("steward", "refute", made[0]["id"], "No.")
    assert effects()[0:2] == [("One.", "refuted", "refuted"), ("Two.", "open", "in_effect")]
    as_("steward", "reject", claim, "No.")
    assert [effect for _, _, effect in effects()[:3]] == ["refuted", "not_admitted", "not_admitted"]
    title, *lines = shown("records", claim, "--account", "author")
    assert title.startswith("rejected  ")
    assert any(line.endswith(", without effect, since the claim is not admitted: Two.") for line in lines)
    (told,) = shown("--account", "reader", "challenge", claim, "Four.", "--evidence", PAGE)
    assert re.fullmatch(
        r"challenged +[0-9a-f-]{36} +the claim is now rejected +"
        r"the challenge is without effect, since the claim is not admitted",
        told,
    )


def test_the_history_of_a_claim_at_a_terminal(run: Run, db_url: str, as_: As, claim: str) -> None:
    as_("steward", "admit", claim, "Yes.")
    (new,) = as_("steward", "correct", claim, "Better.", "--evidence", PAGE)
    (tombstone,) = as_("steward", "promote", new["id"], "pnpm-in-ci", "--evidence", PAGE)
    text = at_terminal(db_url, "--account", "author", "history", claim, columns=120)
    steward = db_account(as_, "steward")[:8]
    assert re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines() == [
        f"tombstone {tombstone['id'][:8]}, system, by {steward}, just now: Promoted to pnpm-in-ci.",
        f"├── superseded, candidate {new['id'][:8]}, system, by {steward}, just now until just now: Better.",
        f"└── superseded, admitted {claim[:8]}, system, just now until just now: {BODY}",
    ]


def db_account(as_: As, name: str) -> str:
    return next(str(row["id"]) for row in as_(name, "accounts") if row["external_ref"] == name)


# Stewards.


def test_marking_stewards(run: Run, db: Db, db_url: str) -> None:
    row = run("steward", "reviewer-1").stdout.rstrip("\n").split("\t")
    assert (row[0], row[4]) == ("reviewer-1", "steward")
    assert documents(run("steward", "reviewer-1", "--off", "--json"))[0]["steward"] is False
    assert complaints(run("steward", "reviewer-2", "--off", code=1)) == ["There is no account reviewer-2."]
    role = f"application_{uuid4().hex}"
    db.execute(f"create role {role} login".encode())
    try:
        db.execute("select memstore.grant_api(%s)", [role])
        url = make_conninfo(db_url, options=f"-c role={role}")
        assert "permission denied" in invoke("steward", "reviewer-3", "--database-url", url, code=1).stderr
        assert db.execute("select memstore.find_user('reviewer-3')").fetchone() == (None,)
    finally:
        db.execute("select memstore.revoke_api(%s)", [role])
        db.execute(f"drop role {role}".encode())
