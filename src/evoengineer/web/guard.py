"""Guard: which requests are let through.

Host      must name this machine as it was told to be called: a page elsewhere that points its own name at us
          (DNS rebinding) keeps that name in the header
token     asked for when we listen beyond this machine: once in the address, then in a cookie
forgery   a request that changes something must come from our own pages and carry their secret
headers   a policy under which a page runs our scripts only, and nobody frames it
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Iterable
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "evoengineer_token"
LONGEST_FORM = 64 * 1024
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # with `no-referrer` a browser hides the origin of our own forms, too
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def is_loopback(host: str) -> bool:
    """Whether listening there reaches this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Guard:
    """The rules of one server; wraps the application."""

    def __init__(self, host: str, *, names: Iterable[str] = (), token: str | None = None) -> None:
        self.forgery_secret = secrets.token_urlsafe(24)
        self.token = token
        self._loopback = is_loopback(host)
        self._names = {"localhost", host.lower(), *(name.lower() for name in names)}

    def knows(self, header: str) -> bool:
        """Whether the Host header names us. Beyond this machine any address will do: addresses cannot be rebound."""
        try:
            host = urlsplit(f"//{header}").hostname or ""
            urlsplit(f"//{header}").port  # noqa: B018  a port that is no number is refused
        except ValueError:
            return False
        if host in self._names:
            return True
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return False
        return address.is_loopback or not self._loopback

    def wrap(self, app: ASGIApp) -> ASGIApp:
        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return

            async def send_with_headers(message: Message) -> None:
                if message["type"] == "http.response.start":
                    headers = MutableHeaders(scope=message)
                    for name, value in _HEADERS.items():
                        headers[name] = value
                    headers.setdefault("cache-control", "no-store")
                await send(message)

            answer = self._refusal(HTTPConnection(scope)) or app
            await answer(scope, receive, send_with_headers)

        return guarded

    def _refusal(self, request: HTTPConnection) -> ASGIApp | None:
        """The answer to a request that is not let through."""
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or not self.knows(hosts[0]):
            return PlainTextResponse(
                "This server does not go by that name. `evoengineer serve --allow-host NAME` adds one.\n", 421
            )
        if request.scope["method"] not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("Only GET and POST are understood.\n", 405)
        if self.token is not None and not self._may_enter(request):
            given = request.query_params.get("token", "")
            if request.scope["method"] == "GET" and hmac.compare_digest(given.encode(), self.token.encode()):
                rest = urlencode([(k, v) for k, v in request.query_params.multi_items() if k != "token"])
                path = "/" + request.url.path.lstrip("/")  # never another host's
                answer = RedirectResponse(path + (f"?{rest}" if rest else ""), 303)
                answer.set_cookie(COOKIE, self.token, httponly=True, samesite="strict")
                return answer
            return PlainTextResponse("A token is needed: open the address that the server printed.\n", 401)
        if request.scope["method"] == "POST" and not _same_origin(request.headers):
            return PlainTextResponse("This request came from another site.\n", 403)
        return None

    def _may_enter(self, request: HTTPConnection) -> bool:
        assert self.token is not None
        kind, _, bearer = request.headers.get("authorization", "").partition(" ")
        given = bearer if kind.lower() == "bearer" else request.cookies.get(COOKIE, "")
        return hmac.compare_digest(given.encode(), self.token.encode())

    async def form(self, request: Request) -> dict[str, str]:
        """The fields of a form of ours; anything else is refused."""
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > LONGEST_FORM:
                raise HTTPException(413, "the form is too long")
        fields = dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=100))
        secret = fields.pop("secret", "")
        if not hmac.compare_digest(secret.encode(), self.forgery_secret.encode()):
            raise HTTPException(
                403, "the form is not from this server, or the server was restarted: load the page again"
            )
        return fields


def _same_origin(headers: Headers) -> bool:
    """Browsers say where a request comes from; whoever says nothing has to know the form's secret all the same."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc.lower() == headers["host"].lower()
