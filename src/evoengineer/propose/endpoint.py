"""Endpoint: a proposer that asks an OpenAI-compatible chat endpoint, through the `openai` client.

Owns: the request's parameters, how long and how large an answer may be, which errors are worth another attempt,
and what an answer cost. The client's own retries are off, so that each failed attempt is seen, recorded and waited
for here. Nothing that an endpoint sends is trusted to have the right form (`answer.py` reads it). The key comes
from the environment and goes nowhere but into the request.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field, replace
from functools import cache
from queue import Empty, SimpleQueue
from random import Random
from typing import Any

from evoengineer.errors import EvoEngineerError, UsageError
from evoengineer.propose.answer import Malformed, read_answer
from evoengineer.propose.prices import Model
from evoengineer.propose.protocol import (
    Attempt,
    Estimate,
    ProposerError,
    Reply,
    Request,
    Stopped,
    Usage,
    clean_text,
)
from evoengineer.propose.retry import RetryPolicy, retry_after

_NO_KEY_NEEDED = "not-needed"  # local servers take any key
_FATAL = {
    400: "refused the request",
    401: "refused the key",
    403: "forbids this",
    404: "knows no such model or path",
}
_BYTES_PER_TOKEN = 2  # code has three to four; an estimate must not be too low
_MOST_BYTES = 16 * 2**20  # of one answer; the longest that models give is below a megabyte
_LOOK_SECONDS = 0.1  # how often a call under way looks whether it is still wanted


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """How an endpoint is asked; times are for one attempt."""

    base_url: str | None = None
    temperature: float | None = 1.0
    max_tokens: int = 16_384
    reasoning_effort: str | None = None
    timeout_seconds: float = 600.0
    connect_seconds: float = 10.0
    concurrency: int = 8
    retry: RetryPolicy = field(default_factory=RetryPolicy)


class _Failed(Exception):
    def __init__(self, attempt: Attempt, *, again: bool, asked: float | None = None) -> None:
        super().__init__(attempt.message)
        self.attempt, self.again, self.asked = attempt, again, asked


class Endpoint:
    """A model behind an address."""

    def __init__(self, model: Model, options: EndpointOptions | None = None) -> None:
        self.model = model
        self.options = options = options or EndpointOptions()
        self._places = threading.BoundedSemaphore(options.concurrency)
        self._client = self._open()

    @property
    def name(self) -> str:
        return self.model.name

    def _open(self) -> Any:
        import openai

        base_url = self.options.base_url or self.model.base_url
        if base_url is None:
            raise UsageError(
                f"model {self.model.name!r} is not in the table of models: say where to ask for it, --base-url URL"
            )
        if not base_url.startswith(("http://", "https://")):
            raise UsageError(f"--base-url must begin with http:// or https://, not {base_url!r}")
        key = os.environ.get(self.model.key) or os.environ.get("EVOENGINEER_API_KEY")
        if not key and self.options.base_url is None and self.model.needs_key:
            raise UsageError(f"no key for {self.model.name}: set ${self.model.key} or $EVOENGINEER_API_KEY")
        return openai.OpenAI(
            api_key=key or _NO_KEY_NEEDED,
            base_url=base_url,
            max_retries=0,
            timeout=openai.Timeout(self.options.timeout_seconds, connect=self.options.connect_seconds),
        )

    def estimate(self, system: str, user: str) -> Estimate:
        prompt = _most_tokens(system, user)
        most = self.options.max_tokens
        price = self.model.price
        return Estimate(prompt + most, 0 if price is None else price.nano_usd(prompt, most))

    def propose(self, request: Request) -> Reply:
        retry = self.options.retry
        random = Random(f"{request.seed}:{request.number}:retry")
        for attempt in range(1, retry.attempts + 1):
            try:
                with self._places:
                    return self._ask(request)
            except _Failed as failed:
                wait = retry.wait_seconds(attempt, random, failed.asked)
                last = attempt == retry.attempts or not failed.again or wait > retry.longest_asked_seconds
                said = clean_text(failed.attempt.message)
                request.on_attempt(replace(failed.attempt, message=said, wait_seconds=0.0 if last else wait))
                if last:
                    raise ProposerError(f"{self.name}: {said}", fatal=not failed.again) from failed
                if request.stop.wait(wait):
                    raise Stopped from failed
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _ask(self, request: Request) -> Reply:
        """One call, within the time limit as a whole: the client's own limits are for each piece of an answer, and an
        endpoint that sends a byte now and then never meets them."""
        started = time.monotonic()
        limit = self.options.timeout_seconds
        answers: SimpleQueue[str | Exception] = SimpleQueue()
        # A thread that nobody waits for: reading from a socket cannot be interrupted.
        threading.Thread(target=self._exchange, args=(request, answers), daemon=True).start()
        while True:
            try:
                answer = answers.get(timeout=max(0.0, min(_LOOK_SECONDS, started + limit - time.monotonic())))
                break
            except Empty:
                if request.give_up.is_set():
                    raise Stopped from None
                if time.monotonic() - started >= limit:
                    raise self._too_late(request) from None
        if isinstance(answer, Exception):
            raise answer
        return self._reply(request, answer, time.monotonic() - started)

    def _exchange(self, request: Request, answers: SimpleQueue[str | Exception]) -> None:
        """In a thread of its own: the body of the answer, or the failure."""
        import openai

        http = _http()
        try:
            answers.put(self._body(request))
        except _Failed as failed:
            answers.put(failed)
        except (openai.APITimeoutError, http.TimeoutException):
            answers.put(
                _failure(request, "timed_out", f"no answer within {self.options.timeout_seconds:g} s")
            )
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            answers.put(_failure(request, "disconnected", f"{type(cause).__name__}: {cause}"))
        except openai.APIStatusError as error:
            answers.put(_status_failure(request, error))
        except openai.APIError as error:
            answers.put(_failure(request, "invalid_json", str(error)))
        except http.HTTPError as error:
            answers.put(_failure(request, "disconnected", f"{type(error).__name__}: {error}"))
        except Exception as error:
            answers.put(error)

    def _body(self, request: Request) -> str:
        """The body as it is, a piece at a time: a broken one is told from a broken connection, an endless one is
        refused, and validating every field of the answer would cost as much again as the call."""
        # Endpoints that know the header do not bill a repeated call twice; the others ignore it.
        headers = {"Idempotency-Key": f"{request.run}/{request.number}"}
        deadline = time.monotonic() + self.options.timeout_seconds
        whole = bytearray()
        create = self._client.chat.completions.with_streaming_response.create
        with create(**self._parameters(request), extra_headers=headers) as response:
            for piece in response.iter_bytes():
                whole += piece
                if len(whole) > _MOST_BYTES:
                    limit = f"longer than {_MOST_BYTES // 2**20} MB, which is the most that is read"
                    raise _failure(request, "too_long", f"the answer is {limit}")
                if time.monotonic() > deadline:
                    raise self._too_late(request)  # usually to nobody: who asked looks at the time, too
        return whole.decode("utf-8", "replace")

    def _too_late(self, request: Request) -> _Failed:
        return _failure(request, "timed_out", f"no whole answer within {self.options.timeout_seconds:g} s")

    def _parameters(self, request: Request) -> dict[str, Any]:
        parameters: dict[str, Any] = {
            "model": self.model.model,
            "messages": [
                {"role": "system", "content": request.system},
                {"role": "user", "content": request.user},
            ],
        }
        effort = self.options.reasoning_effort
        if self.model.reasoning:
            parameters["max_completion_tokens"] = self.options.max_tokens
        else:
            parameters["max_tokens"] = self.options.max_tokens
            if self.options.temperature is not None:
                parameters["temperature"] = self.options.temperature
        if effort is not None:
            parameters["reasoning_effort"] = effort
        return parameters

    def _reply(self, request: Request, body: str, seconds: float) -> Reply:
        try:
            answer = read_answer(body)
        except Malformed as error:
            raise _failure(request, "invalid_json", f"{error}: {body[:200]!r}") from error
        usage = self._usage(request, answer.text, answer.counts)
        if not answer.text.strip():
            reason = answer.finish or "no reason given"
            raise _failure(request, "empty", f"an empty answer ({reason})", usage)
        return Reply(answer.text, answer.model or self.model.model, usage, answer.finish, seconds)

    def _usage(self, request: Request, text: str, counts: tuple[int | None, int | None, int]) -> Usage:
        """What the endpoint counted. A count that cannot be is replaced by what the texts can have been at most: a
        limit that is to be kept must not depend on nonsense."""
        given, answered, cached = counts
        if given is None:
            given = _most_tokens(request.system, request.user)
        if answered is None:
            answered = _most_tokens(text)
        cached = min(cached, given)
        price = self.model.price
        return Usage(given, answered, cached, 0 if price is None else price.nano_usd(given, answered, cached))

    def close(self) -> None:
        self._client.close()


@cache
def _http() -> Any:
    """The HTTP library that the client is built on, which depends on the client's version."""
    from importlib import import_module
    from importlib.util import find_spec

    return import_module("httpx2" if find_spec("httpx2") else "httpx")


def _most_tokens(*texts: str) -> int:
    return sum(len(text.encode()) for text in texts) // _BYTES_PER_TOKEN + 16


def _failure(request: Request, kind: str, message: str, usage: Usage | None = None) -> _Failed:
    usage = usage or Usage()
    attempt = Attempt(request.number, kind, message, tokens=usage.tokens, nano_usd=usage.nano_usd)
    return _Failed(attempt, again=True)


def _status_failure(request: Request, error: Any) -> _Failed:
    status = int(error.status_code)
    asked = retry_after(error.response.headers.get("retry-after"))
    if status in _FATAL:
        message = f"the endpoint {_FATAL[status]} (HTTP {status}): {error.message}"
        return _Failed(Attempt(request.number, "refused", message, status), again=False)
    kind = "rate_limited" if status == 429 else "server_error" if status >= 500 else "refused"
    again = status in (408, 409, 425, 429) or status >= 500
    message = f"HTTP {status}: {error.message}"
    return _Failed(Attempt(request.number, kind, message, status), again=again, asked=asked)


def check_cost_cap(model: Model, usd: float | None) -> None:
    """A cap needs a price: an unknown one must not count as zero."""
    if usd is not None and model.price is None:
        raise EvoEngineerError(
            f"the price of {model.name!r} is not known, so a cap of ${usd:g} cannot be kept. "
            "Give it in a file of prices (--prices FILE), or cap tokens instead (--max-tokens-total N)."
        )
