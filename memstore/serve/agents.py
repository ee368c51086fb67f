"""The tools for agents: MCP over Streamable HTTP, one POST a message, without sessions."""

import json
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any, Final
from uuid import UUID

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from memstore import models
from memstore.api.aio import AsyncFunctions
from memstore.mcp_server.given import GivenOut
from memstore.mcp_server.server import CLAIMS_INSTRUCTIONS, INSTRUCTIONS, all_tools
from memstore.mcp_server.tools import Tools
from memstore.mcp_server.transport import NoMessageError, read_message
from memstore.serve.acting import ActingStore, Visitor, current, visiting, visitor_of
from memstore.serve.address import Address
from memstore.serve.guards import replayed

MAXIMUM_BODY: Final = 1 << 20
"""Bytes of a message."""

_MOST_ACCOUNTS: Final = 200

# The functions that a tool calls, or two lists of them: it is there for a token that allows one of these.
_CALLED: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "recall": (("recall",),),
    "remember": (("insert_memory",),),
    "correct": (("supersede_memory",), ("supersede_memory:claims",)),
    "forget": (("get_memory", "delete_memory"), ("get_memory", "delete_memory:claims")),
    "list": (("list_memories",),),
    "search": (("rank_memories",),),
    "history": (("memory_history",), ("memory_history:claims",)),
    "propose": (("insert_memory:claims",),),
    "challenge": (("challenge_memory", "list_records", "memory_status"),),
    "records": (("list_records", "memory_status"),),
}


class _GivenOutByAccount(GivenOut):
    """What recall has given out, of each account by itself, of those that asked last."""

    def __init__(self) -> None:
        super().__init__()
        self._accounts: OrderedDict[UUID, GivenOut] = OrderedDict()

    def note(self, answer: models.Recall) -> None:
        """Notes what a recall gives out."""
        self._visitors().note(answer)

    async def find(self, store: AsyncFunctions, actor: UUID | str | None, body: str) -> models.Memory | None:
        """Finds the memory that a text was given out of."""
        return await self._visitors().find(store, actor, body)

    def _visitors(self) -> GivenOut:
        account = current().access.actor
        found = self._accounts.setdefault(account, GivenOut())
        self._accounts.move_to_end(account)
        while len(self._accounts) > _MOST_ACCOUNTS:
            self._accounts.popitem(last=False)
        return found


class _OwnTools(Tools):
    """The tools of whoever asks."""

    def __init__(self, store: AsyncFunctions) -> None:
        super().__init__(store, "")
        self._given_out = _GivenOutByAccount()

    async def _actor(self) -> UUID | str | None:
        return None  # the acting store's to say


class Agents:
    """The ASGI application of the tools.

    Args:
        store: The store.
        address: Where it is served.
    """

    def __init__(self, store: AsyncFunctions, address: Address) -> None:
        self._store = store
        self._address = address
        tools = _OwnTools(ActingStore(store))
        self._tools = {tool.name: tool for tool in all_tools(tools, claims=True)}
        self._described = {name: tool.described() for name, tool in self._tools.items()}
        server: Server[Any] = Server(
            "memstore",
            title="memstore",
            version=version("pg-memstore"),
            instructions=INSTRUCTIONS + CLAIMS_INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        self._manager = StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, max_request_body_size=MAXIMUM_BODY
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serves as long as it is entered."""
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        answer = await self._refusal(scope)
        if answer is None:
            body = (await receive())["body"]
            answer = await self._called(scope, body) or _unread(body)
            receive = replayed(body, receive)
        if answer is None:
            await self._manager.handle_request(scope, receive, send)
        else:
            await answer(scope, receive, send)

    async def _called(self, scope: Scope, body: bytes) -> Response | None:
        """Calls a tool without the SDK's streams, which cost as much as the call; None: another message."""
        headers = Headers(scope=scope)
        if (
            headers.get("mcp-protocol-version", HANDSHAKE_PROTOCOL_VERSIONS[-1])
            not in HANDSHAKE_PROTOCOL_VERSIONS
            or headers.get("content-type") != "application/json"
            or not all(
                kind in headers.get("accept", "") for kind in ("application/json", "text/event-stream")
            )
        ):
            return None
        try:
            match json.loads(body):
                case {
                    "jsonrpc": "2.0",
                    "id": str() | int() as id,
                    "method": "tools/call",
                    "params": {"name": str() as name, "arguments": dict() as arguments, **others},
                } if not isinstance(id, bool) and str(id).isprintable() and others.keys() <= {"_meta"}:
                    pass
                case _:
                    return None
        except (ValueError, RecursionError):
            return None
        visitor: Visitor = scope["memstore.visitor"]
        if not self._allowed(visitor, name):
            return None
        with visiting(visitor):
            result = await self._tools[name].run(arguments)
        # These versions have no type of results.
        dumped = result.model_dump(by_alias=True, mode="json", exclude_none=True, exclude={"result_type"})
        return JSONResponse({"jsonrpc": "2.0", "id": id, "result": dumped})

    async def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in self._address.origins(headers["host"]):
            return PlainTextResponse("This origin is not served here.", 403)
        visitor = await bearer_of(self._store, headers)
        if visitor is None:
            return unauthorized()
        # Without sessions there is nothing to listen to: the transport would hold a GET open for ever.
        if scope["method"] != "POST":
            return Response(status_code=405, headers={"Allow": "POST"})
        scope["memstore.visitor"] = visitor
        return None

    def _allowed(self, visitor: Visitor, name: str) -> bool:
        return name in self._tools and any(visitor.may(*called) for called in _CALLED[name])

    async def _list_tools(
        self, context: ServerRequestContext[Any, Any], _: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        visitor = _visitor(context)
        allowed = [tool for name, tool in self._described.items() if self._allowed(visitor, name)]
        return types.ListToolsResult(tools=allowed)

    async def _call_tool(
        self, context: ServerRequestContext[Any, Any], parameters: types.CallToolRequestParams
    ) -> types.CallToolResult:
        visitor = _visitor(context)
        if not self._allowed(visitor, parameters.name):
            raise MCPError(types.INVALID_PARAMS, "There is no such tool.")
        with visiting(visitor):
            return await self._tools[parameters.name].run(parameters.arguments or {})


def _visitor(context: ServerRequestContext[Any, Any]) -> Visitor:
    if context.request is None:
        raise MCPError(types.INVALID_REQUEST, "The message came without a request.")
    visitor: Visitor = context.request.scope["memstore.visitor"]
    return visitor


def _unread(body: bytes) -> Response | None:
    """Answers what is no message: the SDK's own answer shows its text."""
    try:
        read_message(body)
    except NoMessageError as error:
        return JSONResponse(error.answer.model_dump(mode="json", exclude_unset=True), 400)
    return None


async def bearer_of(store: AsyncFunctions, headers: Headers) -> Visitor | None:
    """Finds who has the token of the header Authorization; None where there is none that is live."""
    given = headers.getlist("authorization")
    scheme, _, secret = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    return await visitor_of(store, secret, "agent") if scheme.lower() == "bearer" else None


def unauthorized() -> Response:
    """Answers a request without a live token."""
    challenge = 'Bearer realm="memstore", error="invalid_token"'
    return JSONResponse({"error": "invalid_token"}, 401, {"WWW-Authenticate": challenge})
