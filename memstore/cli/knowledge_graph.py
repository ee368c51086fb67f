"""Reading the file of MCP's own memory server (@modelcontextprotocol/server-memory) as memories.

An observation is a sentence about a person or a thing, which recall should find, so it becomes a memory and
not an item. Its scope is `entity:` and the entity's name, so that all that is known of one can be listed,
recalled and deleted; an agent that recalls for some scopes doesn't see it unless it names this one, too.
An entity becomes a memory that says its type, and a relation one of the entity that it comes from. The name
begins each body, since observations don't repeat it.
"""

import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, Final
from uuid import UUID, uuid5

_BODY: Final = 2000  # characters
_SCOPE: Final = 200
_SOURCE: Final = "server-memory"
_SHAPES: Final[dict[str, dict[str, type]]] = {
    "entity": {"name": str, "entityType": str, "observations": list},
    "relation": {"from": str, "to": str, "relationType": str},
}
EXPECTED: Final = "an entity or a relation, as server-memory writes them"


def parts(document: object) -> Iterator[object]:
    """The entities and relations of a document: itself, or those of a graph as read_graph answers it."""
    if isinstance(document, dict) and "type" not in document:
        for name, kind in (("entities", "entity"), ("relations", "relation")):
            listed = document.get(name)
            for part in listed if isinstance(listed, list) else ():
                yield {"type": kind, **part} if isinstance(part, dict) else part
        if document.keys() & {"entities", "relations"}:
            return
    yield document


def memories(part: object, actor: UUID) -> list[dict[str, object]] | None:
    """What a part becomes, as `insert_memories` takes it; None where it isn't one.

    Args:
        part: An entity or a relation.
        actor: The account, by which the ids differ from those that another gets of the same file.
    """
    kind = part.get("type") if isinstance(part, dict) else None
    shape = _SHAPES.get(kind) if isinstance(kind, str) else None
    if not isinstance(part, dict) or shape is None:
        return None
    if not all(isinstance(part.get(name), expected) for name, expected in shape.items()):
        return None
    rest = {name: value for name, value in part.items() if name not in ("type", *shape)}
    if kind == "relation":
        name = part["from"]
        body = f"{name} {part['relationType']} {part['to']}"
        more = {"relation": part["relationType"], "to": part["to"], **rest}
        return _memories(actor, name, [kind, name, part["relationType"], part["to"]], body, more)
    name, kind_of = part["name"], part["entityType"]
    found = _memories(actor, name, [kind, name, kind_of], f"{name}: {kind_of}", {"type": kind_of, **rest})
    for text in part["observations"]:
        if not isinstance(text, str):
            return None
        if text.strip():
            found += _memories(actor, name, ["observation", name, text], f"{name}: {text.strip()}", {})
    return found


def _memories(
    actor: UUID, entity: str, named: list[Any], body: str, metadata: Mapping[str, object]
) -> list[dict[str, object]]:
    """The memories of a text, one unless it is longer than a body; their ids follow from what they say."""
    label = f"{entity}: "
    room = max(_BODY - len(label), 1)
    bodies = [body]
    if len(body) > _BODY:
        pieces = textwrap.wrap(
            body.removeprefix(label), room, replace_whitespace=False, drop_whitespace=False
        )
        bodies = [f"{label}{piece}" for piece in pieces]
    return [
        {
            "id": uuid5(actor, json.dumps([_SOURCE, *named, number])),
            "body": text,
            "bucket": "learned",
            "scope": f"entity:{entity.strip()}"[:_SCOPE],
            "source_ref": _SOURCE,
            "metadata": {"entity": entity, **metadata},
        }
        for number, text in enumerate(bodies)
    ]
