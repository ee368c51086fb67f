"""The application: the routes, and what stands before them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route, Router
from starlette.types import ASGIApp

from memstore.api.aio import AsyncFunctions
from memstore.serve import agents, figures, pages_claims, pages_memories
from memstore.serve.address import Address
from memstore.serve.agents import Agents
from memstore.serve.figures import Metrics
from memstore.serve.guards import Bodies, Failures, Hosts, Secured
from memstore.serve.pages import MAXIMUM_BODY, Logins, Page, Sessions, to
from memstore.serve.pages_access import Tokens

_STYLE: Final = Path(__file__).with_name("static") / "style.css"

Handler = Callable[[Page], Awaitable[Response]]


def application(store: AsyncFunctions, address: Address) -> ASGIApp:
    """Makes the application.

    Args:
        store: The store, of the schema's owner or a role of grant_serve.
        address: Where it is served.
    """
    tools = Agents(store, address)
    inner = Router(_pages(store, address), redirect_slashes=False)
    pages = Sessions(inner, store, address)

    @asynccontextmanager
    async def running(_: Starlette) -> AsyncIterator[None]:
        async with tools.running():
            yield

    return Starlette(
        lifespan=running,
        middleware=[Middleware(Secured), Middleware(Failures), Middleware(Hosts, address)],
        routes=[
            Route("/healthz", _health, methods=["GET"]),
            Route("/metrics", Metrics(store).scraped, methods=["GET"]),
            Route("/mcp", Bodies(tools, agents.MAXIMUM_BODY)),
            Mount("/", Bodies(pages, MAXIMUM_BODY)),
        ],
    )


def _pages(store: AsyncFunctions, address: Address) -> list[Route]:
    logins, tokens = Logins(store, address), Tokens(store, address)

    def page(path: str, handler: Handler, method: str = "GET") -> Route:
        async def answer(request: Request) -> Response:
            return await handler(Page(request, store))

        return Route(path, answer, methods=[method])

    async def first(_: Page) -> Response:
        return to("/memories")

    return [
        Route("/static/style.css", _style, methods=["GET"]),
        Route("/login", logins.ask, methods=["GET"]),
        Route("/login", logins.enter, methods=["POST"]),
        page("/logout", logins.leave, "POST"),
        page("/", first),
        page("/memories", pages_memories.memories),
        page("/memories", pages_memories.remember, "POST"),
        page("/memories/forget", pages_memories.forget_several, "POST"),
        page("/memories/{id}", pages_memories.memory),
        page("/memories/{id}/correct", pages_memories.correct, "POST"),
        page("/memories/{id}/forget", pages_memories.forget, "POST"),
        page("/export", pages_memories.export),
        page("/recall", pages_memories.recall),
        page("/claims", pages_claims.claims),
        page("/claims", pages_claims.propose, "POST"),
        page("/claims/queue", pages_claims.queue),
        page("/claims/{id}", pages_claims.claim),
        page("/claims/{id}/challenge", pages_claims.challenge, "POST"),
        page("/claims/{id}/verdict", pages_claims.judge, "POST"),
        page("/claims/{id}/refute", pages_claims.refute, "POST"),
        page("/claims/{id}/promote", pages_claims.promote, "POST"),
        page("/access", tokens.show),
        page("/access", tokens.make, "POST"),
        page("/access/{id}/revoke", tokens.revoke, "POST"),
        page("/store", figures.store),
    ]


async def _health(_: Request) -> Response:
    """Says that the server runs; whether there is a store, each request finds out."""
    return PlainTextResponse("ok")


async def _style(_: Request) -> Response:
    return FileResponse(_STYLE, media_type="text/css", headers={"Cache-Control": "max-age=3600"})
