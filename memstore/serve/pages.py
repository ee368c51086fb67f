"""What all pages share: templates, forms, the visitor's account, and what stands before them."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar
from uuid import UUID, uuid4

from jinja2 import Environment, PackageLoader
from starlette.datastructures import FormData, Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from memstore.api.aio import AsyncFunctions
from memstore.errors import MemoryNotFound, MemstoreError, RecordTargetNotFound, ScopeMissing
from memstore.serve.acting import ActingStore, Visitor, digest_of, new_secret, visiting, visitor_of
from memstore.serve.address import Address
from memstore.serve.texts import ago, figure, messages_for, other_messages, show

T = TypeVar("T")

MAXIMUM_BODY: Final = 1 << 16
"""Bytes of a form."""

_ENVIRONMENT: Final = Environment(
    loader=PackageLoader("memstore.serve"), autoescape=True, trim_blocks=True, lstrip_blocks=True
)
_ENVIRONMENT.filters |= {"show": show, "ago": ago, "figure": figure}
_ENVIRONMENT.globals |= {"messages_for": messages_for, "other_messages": other_messages, "new_id": uuid4}
_OPEN: Final = ("/login", "/static/")


def render(template: str, code: int = 200, /, **values: object) -> HTMLResponse:
    """Renders a template that needs no visitor."""
    return HTMLResponse(_ENVIRONMENT.get_template(template).render(values), code)


class Page:
    """One request of a visitor for a page.

    Attributes:
        request: The request.
        visitor: Who asks.
        store: The store, whose calls are the visitor's.
    """

    def __init__(self, request: Request, store: AsyncFunctions) -> None:
        self.request = request
        self.visitor: Visitor = request.scope["memstore.visitor"]
        self.store: ActingStore = ActingStore(store)

    def query(self, name: str) -> str | None:
        """Gives an argument of the URL; None where it is blank."""
        return self.request.query_params.get(name, "").strip() or None

    async def render(self, template: str, code: int = 200, /, **values: object) -> Response:
        """Renders a template with what every page shows."""
        common = {
            "may": self.visitor.may,
            "visitor": self.visitor,
            "user": await self.store.get_user(None),
            "path": self.request.url.path,
        }
        return render(template, code, **common, **values)

    async def form(self) -> Mapping[str, Any]:
        """Gives the fields of a form; of a name that comes again, the last. Lines end with LF."""
        form: FormData = await self.request.form(max_files=0, max_fields=200)
        return {name: value.replace("\r\n", "\n") for name, value in form.items() if isinstance(value, str)}

    async def several(self, name: str) -> list[str]:
        """Gives all values of one field of a form."""
        form = await self.request.form(max_files=0, max_fields=200)
        return [value for value in form.getlist(name) if isinstance(value, str)]

    @property
    def id(self) -> UUID:
        """The id in the path; the nil UUID, which is found nowhere, where it is none."""
        try:
            return UUID(self.request.path_params["id"])
        except ValueError:
            return UUID(int=0)

    async def refused(self, error: MemstoreError) -> Response:
        """Answers what was refused, and belongs beside no field."""
        missing = MemoryNotFound | RecordTargetNotFound
        status = 404 if isinstance(error, missing) else 403 if isinstance(error, ScopeMissing) else 422
        return await self.render("refused.html", status, refusal=error)


def to(path: str) -> Response:
    """Leads on, after a form."""
    return RedirectResponse(path, 303)


def given(form: Mapping[str, Any], name: str) -> str | None:
    """Gives a field of a form; None where it is blank."""
    value: str = form.get(name, "")
    return value if value.strip() else None


def evidence_of(kinds: list[str], refs: list[str], digests: list[str]) -> list[dict[str, object]]:
    """Gives the pieces of evidence of a form, without the rows that were left blank."""
    rows = zip(kinds, refs, digests, strict=False)
    return [
        {"kind": kind, "ref": ref, "digest": digest}
        for kind, ref, digest in rows
        if ref.strip() or digest.strip()
    ]


class Sessions:
    """Before the pages: forms of other pages are refused, and who has no session is asked to log in.

    Args:
        app: The pages.
        store: The store.
        address: Where they are served.
    """

    def __init__(self, app: ASGIApp, store: AsyncFunctions, address: Address) -> None:
        self.app = app
        self._store = store
        self._address = address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        request = Request(scope)
        if request.method not in ("GET", "HEAD") and not self._is_own(request.headers):
            await PlainTextResponse("This form is of another page.", 403)(scope, receive, send)
            return
        if scope["path"].startswith(_OPEN):
            await self.app(scope, receive, send)
            return
        visitor = await visitor_of(self._store, request.cookies.get(self._address.cookie, ""), "session")
        if visitor is None:
            await render("login.html", 401)(scope, receive, send)
            return
        scope["memstore.visitor"] = visitor
        with visiting(visitor):
            await self.app(scope, receive, send)

    def _is_own(self, headers: Headers) -> bool:
        """Tells whether a form was sent by a page of this very origin; SameSite lets other ports through."""
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if site not in (None, "same-origin"):
            return False
        if origin is None:
            return site == "same-origin"
        return origin.lower() in self._address.origins(headers["host"])


class Logins:
    """The login and the logout.

    Args:
        store: The store.
        address: Where they are served.
    """

    def __init__(self, store: AsyncFunctions, address: Address) -> None:
        self._store = store
        self._address = address

    async def ask(self, request: Request) -> Response:
        """Shows a button alone: what follows links before people do must not use the login up."""
        return render("login.html", code=request.query_params.get("code", ""))

    async def enter(self, request: Request) -> Response:
        """Makes a session of a login."""
        form = await request.form(max_files=0, max_fields=2)
        secret = new_secret()
        try:
            made = await self._store.redeem_login(digest_of(str(form.get("code", ""))), digest_of(secret))
        except MemstoreError as error:
            if error.name not in ("token_invalid", "quota_reached"):
                raise
            refusal = error
        else:
            answer = to("/memories")
            answer.set_cookie(
                self._address.cookie,
                secret,
                expires=made.expires_at,
                httponly=True,
                samesite="strict",
                secure=self._address.secure,
            )
            return answer
        return render("login.html", 401, refusal=refusal)

    async def leave(self, page: Page) -> Response:
        """Ends the session."""
        await page.store.revoke_token(None, page.visitor.access.id)
        answer = to("/login")
        answer.delete_cookie(
            self._address.cookie, httponly=True, samesite="strict", secure=self._address.secure
        )
        return answer
