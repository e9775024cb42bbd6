"""A fake chat endpoint: a real HTTP server on this machine whose answers are scripted, for tests and demos.

    evoengineer fake-endpoint script.toml --port 8080
    evoengineer evolve softmax --model any --base-url http://127.0.0.1:8080/v1

It answers POST …/chat/completions in OpenAI's form, and can delay, fail, limit the rate and talk nonsense:
see `Answer` and docs/proposers.md for the script. Deterministic when answers go by the proposal's number,
which the client sends in its Idempotency-Key.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FAULTS = ("429", "500", "503", "timeout", "cut", "cut_before", "invalid_json", "empty", "no_choices")
_HANG_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What to answer one proposal: first each of `faults` in turn, then the text."""

    text: str = ""
    faults: tuple[str, ...] = ()
    delay_seconds: float = 0.0
    retry_after: str | None = None  # for a 429
    input_tokens: int | None = None  # otherwise about a quarter of the characters
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """One request as the server saw it."""

    order: int  # 0, 1, … in order of arrival
    key: str  # Idempotency-Key
    number: int | None  # the proposal's number, from the key
    attempt: int  # 1, 2, … for this key
    system: str
    user: str
    body: dict[str, Any] = field(repr=False)


Script = Callable[[Ask], Answer]


def by_number(answers: Iterable[Answer | str]) -> Script:
    """Answer k to proposal k, from 1; after the last the first again."""
    listed = [Answer(each) if isinstance(each, str) else each for each in answers]
    return lambda ask: listed[((ask.number if ask.number is not None else ask.order + 1) - 1) % len(listed)]


def by_order(answers: Iterable[Answer | str]) -> Script:
    """Answers in order of arrival, repeated attempts apart; after the last the first again."""
    listed = [Answer(each) if isinstance(each, str) else each for each in answers]
    places: dict[str, int] = {}
    lock = threading.Lock()

    def script(ask: Ask) -> Answer:
        with lock:
            place = places.setdefault(ask.key or str(ask.order), len(places))
        return listed[place % len(listed)]

    return script


class FakeEndpoint:
    """`with FakeEndpoint(script) as endpoint: … endpoint.url`"""

    def __init__(
        self,
        script: Script,
        *,
        port: int = 0,
        requests_per_second: float | None = None,
        concurrent: int | None = None,
    ) -> None:
        self.script = script
        self.asks: list[Ask] = []
        self.requests_per_second, self.concurrent = requests_per_second, concurrent
        self.most_at_once = 0
        self._attempts: dict[str, int] = {}
        self._active = 0
        self._last = 0.0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = _Server(("127.0.0.1", port), self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        """Its address, as a base URL."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> FakeEndpoint:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def serve(self) -> None:
        """Until interrupted."""
        self._server.serve_forever()

    def close(self) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()

    def wait(self, seconds: float) -> None:
        self._closing.wait(seconds)

    def enter(self, body: dict[str, Any], key: str) -> tuple[Ask, bool]:
        """Note a request; whether the limits allow it."""
        messages = body.get("messages") or []
        texts = {str(m.get("role")): str(m.get("content")) for m in messages if isinstance(m, dict)}
        tail = key.rpartition("/")[2]
        with self._lock:
            now = time.monotonic()
            apart = 0.0 if self.requests_per_second is None else 1.0 / self.requests_per_second
            allowed = now - self._last >= apart and (
                self.concurrent is None or self._active < self.concurrent
            )
            if allowed:
                self._last = now
                self._attempts[key] = self._attempts.get(key, 0) + 1
            self._active += 1
            self.most_at_once = max(self.most_at_once, self._active)
            ask = Ask(
                len(self.asks),
                key,
                int(tail) if tail.isdigit() else None,
                self._attempts.get(key, 0),
                texts.get("system", ""),
                texts.get("user", ""),
                body,
            )
            self.asks.append(ask)
        return ask, allowed

    def leave(self) -> None:
        with self._lock:
            self._active -= 1


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], endpoint: FakeEndpoint) -> None:
        super().__init__(address, _Handler)
        self.endpoint = endpoint

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is part of the play."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        endpoint = self.server.endpoint
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not self.path.rstrip("/").endswith("/chat/completions"):
            self._send(
                404, {"error": {"message": f"unknown path {self.path}; this server has /v1/chat/completions"}}
            )
            return
        try:
            body = json.loads(data)
        except ValueError as error:
            self._send(400, {"error": {"message": f"the request is not JSON: {error}"}})
            return
        ask, allowed = endpoint.enter(body, self.headers.get("Idempotency-Key") or "")
        try:
            if not allowed:
                self._send(429, {"error": {"message": "rate limit"}}, {"Retry-After": "0.05"})
            else:
                self._answer(ask, endpoint.script(ask))
        finally:
            endpoint.leave()

    def _answer(self, ask: Ask, answer: Answer) -> None:
        if answer.delay_seconds:
            self.server.endpoint.wait(answer.delay_seconds)
        if ask.attempt <= len(answer.faults):
            self._fail(ask, answer, answer.faults[ask.attempt - 1])
        else:
            self._send(200, _completion(ask, answer, answer.text))

    def _fail(self, ask: Ask, answer: Answer, fault: str) -> None:
        if fault.isdigit():
            headers = {"Retry-After": answer.retry_after} if answer.retry_after is not None else {}
            self._send(int(fault), {"error": {"message": f"scripted {fault}"}}, headers)
        elif fault == "timeout":
            self.server.endpoint.wait(_HANG_SECONDS)
            self._cut()
        elif fault == "cut_before":
            self._cut()
        elif fault == "cut":
            whole = json.dumps(_completion(ask, answer, answer.text)).encode()
            self._begin(200, len(whole), {})
            self.wfile.write(whole[: len(whole) // 2])
            self._cut()
        elif fault == "invalid_json":
            self._send_bytes(200, b'{"choices": [{"message": {"content": "unfini', {})
        elif fault == "empty":
            self._send(200, _completion(ask, answer, ""))
        elif fault == "no_choices":
            self._send(200, {"object": "chat.completion", "choices": []})
        else:
            self._send(500, {"error": {"message": f"unknown fault {fault!r}; valid: {', '.join(FAULTS)}"}})

    def _cut(self) -> None:
        """Close the connection with a reset, as a crashing server does."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def _send(self, status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        self._send_bytes(status, json.dumps(body).encode(), headers or {})

    def _send_bytes(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self._begin(status, len(body), headers)
        self.wfile.write(body)

    def _begin(self, status: int, length: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(length),
            **headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()


def _completion(ask: Ask, answer: Answer, text: str) -> dict[str, Any]:
    given = (len(ask.system) + len(ask.user)) // 4 if answer.input_tokens is None else answer.input_tokens
    answered = len(answer.text) // 4 if answer.output_tokens is None else answer.output_tokens
    return {
        "id": f"fake-{ask.order}",
        "object": "chat.completion",
        "created": 0,
        "model": str(ask.body.get("model", "fake")),
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": given, "completion_tokens": answered, "total_tokens": given + answered},
    }
