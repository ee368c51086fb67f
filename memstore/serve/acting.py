"""Calls for whom a token names: each statement has the database find the account and check the scope."""

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Final, TypeVar

from memstore.api import calls
from memstore.api.aio import AsyncFunctions
from memstore.errors import TokenInvalid
from memstore.models import Access
from memstore.wire import Call

T = TypeVar("T")

_SECRET: Final = re.compile(r"mst_[0-9a-f]{64}")
_ACTOR: Final = b"actor => %(actor)s::uuid"
_AUTHORIZED: Final = (
    b"actor => memstore.authorize_call(%(token)s::bytea, %(called)s::text, %(kind)s::text,"
    b" %(its_bucket)s::text, %(its_memory)s::uuid)"
)


def new_secret() -> str:
    """Makes the secret of a session, of the same form as the database's."""
    return f"mst_{secrets.token_hex(32)}"


def digest_of(secret: str) -> bytes:
    """Gives what the database has of a secret."""
    return sha256(secret.encode()).digest()


@dataclass(frozen=True)
class Visitor:
    """Who makes a request, as its token says.

    Attributes:
        digest: The SHA-256 of the token's secret.
        kind: `agent` or `session`.
        access: What the token allows.
    """

    digest: bytes = field(repr=False)
    kind: str
    access: Access

    def may(self, *functions: str) -> bool:
        """Tells whether the token's scopes allow functions; each call is checked again."""
        return set(functions) <= set(self.access.functions)


async def visitor_of(store: AsyncFunctions, secret: str, kind: str) -> Visitor | None:
    """Finds who has a secret; None where it is no live token's.

    Raises:
        StoreUnavailable: The store can't be reached.
    """
    if not _SECRET.fullmatch(secret):
        return None
    digest = digest_of(secret)
    try:
        return Visitor(digest, kind, await store.authenticate_token(digest, kind=kind))
    except TokenInvalid:
        return None


_VISITOR: ContextVar[Visitor] = ContextVar("visitor")


@contextmanager
def visiting(visitor: Visitor) -> Iterator[None]:
    """Has the calls of this task be a visitor's."""
    token = _VISITOR.set(visitor)
    try:
        yield
    finally:
        _VISITOR.reset(token)


def current() -> Visitor:
    """Gives the visitor that calls are made for."""
    return _VISITOR.get()


class ActingStore(AsyncFunctions):
    """A store whose calls are the visitor's, whatever account they name.

    Raises, beside what the functions raise:
        TokenInvalid: The token has ended meanwhile.
        ScopeMissing: Its scopes don't allow the call.
    """

    def __init__(self, store: AsyncFunctions) -> None:
        self._store = store

    async def run(self, call: Call[T]) -> T:
        """Runs a call."""
        return await self._store.run(await self._authorized(call, current()))

    async def _authorized(self, call: Call[T], visitor: Visitor) -> Call[T]:
        if call.statement.count(_ACTOR) == 1:
            given = {name: value for name, value in call.parameters.items() if name != "actor"}
            given |= {
                "token": f"\\x{visitor.digest.hex()}",
                "called": call.function,
                "kind": visitor.kind,
                "its_bucket": given.get("bucket"),
                "its_memory": given.get("target", given.get("id")),
            }
            return replace(call, statement=call.statement.replace(_ACTOR, _AUTHORIZED), parameters=given)
        # It names no account, such as the operator's.
        await self._store.run(
            calls.authorize_call(digest=visitor.digest, function=call.function, kind=visitor.kind)
        )
        return call
