"""The functions of the API, and a call of each."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import psycopg

from memstore import schema

Connect = Callable[..., psycopg.Connection]

FILES = sorted((schema.sql_dir() / "functions").glob("*/*.sql"))
API = {path.stem for path in FILES if path.parent.name != "operator"}
OPERATOR = {path.stem for path in FILES if path.parent.name == "operator"}


def calls(account: UUID, steward: UUID) -> dict[str, str]:
    """Arguments of one call of each function of the API, in an order in which each one works."""
    ids = [f"'00000000-0000-4000-8000-00000000000{number}'" for number in range(4)]
    actor, judge = f"'{account}'", f"'{steward}'"
    evidence = """'[{"kind": "url", "ref": "r", "digest": "d"}]'"""
    a, b, c, claim = ids
    system = (
        "'system', slug => 'sys:x', tier => 'glass', as_of => '2026-01-02', admission => 'candidate',"
        f" evidence_refs => {evidence}"
    )
    return {
        "help": "'recall'",
        "read_json": "'{}'",
        "schema_version": "",
        "create_user": "external_ref => 'caller'",
        "find_user": "'caller'",
        "insert_memory": f"{actor}, 'Streets', id => {a}, embedding => '{{1}}', embedding_model => 'm'",
        "insert_memories": f"""{actor}, '[{{"body": "x", "id": "{b[1:-1]}", "embedding": [1],
            "embedding_model": "m"}}, {{"body": "y", "id": "{c[1:-1]}"}}]'""",
        "supersede_memory": f"{actor}, {a}, 'Streets are wide.'",
        "supersede_with": f"{actor}, {b}, {c}",
        "delete_history": f"{actor}, (memstore.insert_memory({actor}, 'Gone')).id",
        "set_embedding": f"{actor}, {c}, '{{2}}', 'm'",
        "find_ids": f"{actor}, '0000'",
        "get_memory": f"{actor}, {a}",
        "list_memories": f"""{actor}, 'user', true, 2, {c}, '{{project:x}}', '{{"k": 1}}'""",
        "memory_history": f"{actor}, {a}",
        "memory_histories": f"{actor}, array[{a}, {b}]::uuid[]",
        "search_memories": f"""{actor}, 'street', 'user', true, 2, {c}, '{{project:x}}', '{{"k": 1}}'""",
        "get_user": actor,
        "create_login": f"{actor}, '{{recall}}'",
        "revoke_token": f"{actor}, (memstore.create_login({actor})).id",
        "list_tokens": actor,
        "memories_as_of": f"{actor}, pg_catalog.now()",
        "memory_violations": """'{"body": "", "embedding": [1, "x"]}'""".replace(', "x"', ""),
        "list_rules": "",
        "rank_memories": f"{actor}, 'a wide street', '{{1}}', 'm'",
        "similar_memories": f"{actor}, 'a wide street', '{{1}}', 'm'",
        "rank_claims": f"{actor}, 'a wide street', '{{1}}', 'm'",
        "recall": f"""{actor}, 'a wide street', '{{1}}', 'm', null, null, '{{}}', '[{{"k": 1}}]'""",
        "explain_recall": f"{actor}, 'a wide street', '{{1}}', 'm'",
        "challenge_memory": f"{actor}, (memstore.insert_memory({judge}, 'c', {system}, id => {claim})).id,"
        f" 'no', {evidence}",
        "record_admission": f"{judge}, {claim}, 'admitted', 'yes'",
        "memory_status": f"{actor}, {claim}",
        "list_records": f"{actor}, {claim}",
        "list_claims": judge,
        "list_own_claims": judge,
        "count_claims": judge,
        "refute_challenge": f"{judge}, (select id from memstore.list_records({actor}, {claim})"
        " where role operator(pg_catalog.=) 'challenge'), 'yes'",
        "promote_memory": f"{judge}, {claim}, 'a-stance', {evidence}",
        "put_items": f"""{actor}, '[{{"namespace": ["a", "b"], "key": "k", "value": {{"text": "Streets",
            "n": 1}}, "ttl_seconds": 60, "if_version": 0, "embeddings": [
            {{"field": "$", "embedding": [1], "embedding_model": "m"}}]}}]'""",
        "get_items": f"""{actor}, '[{{"namespace": ["a", "b"], "key": "k"}}]'""",
        "renew_items": f"""{actor}, '[{{"namespace": ["a", "b"], "key": "k"}}]'""",
        "search_items": f"""{actor}, '{{a}}', 'a wide street', '{{"n": {{"$gt": 0.5}}}}', '{{1}}', 'm'""",
        "list_item_namespaces": f"""{actor}, '[{{"match": "prefix", "path": ["*"]}}]', 1""",
        "item_violations": """'{"namespace": ["a"], "key": "", "value": {}}'""",
        "export_items": f"{actor}, 10",
        "delete_expired_items": actor,
        "export_account": actor,
        "export_memories": f"{actor}, 1, {c}",
        "delete_memory": f"{actor}, {a}",
        "delete_scope": f"{actor}, 'project:x'",
        "delete_user": actor,
    }


def call_all(connection: psycopg.Connection, account: UUID, steward: UUID) -> None:
    for name, arguments in calls(account, steward).items():
        connection.execute(f"select from memstore.{name}({arguments})".encode())
