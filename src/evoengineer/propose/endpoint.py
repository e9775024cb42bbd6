"""Endpoint: a proposer that asks an OpenAI-compatible chat endpoint, through the `openai` client.

Owns: the request's parameters, which errors are worth another attempt, and what an answer cost. The client's
own retries are off, so that each failed attempt is seen, recorded and waited for here. The key comes from the
environment and goes nowhere but into the request.
"""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import dataclass, field, replace
from functools import cache
from random import Random
from typing import Any

from evoengineer.errors import EvoEngineerError, UsageError
from evoengineer.propose.prices import Model
from evoengineer.propose.protocol import Attempt, Estimate, ProposerError, Reply, Request, Stopped, Usage
from evoengineer.propose.retry import RetryPolicy, retry_after

_NO_KEY_NEEDED = "not-needed"  # local servers take any key
_FATAL = {
    400: "refused the request",
    401: "refused the key",
    403: "forbids this",
    404: "knows no such model or path",
}
_BYTES_PER_TOKEN = 2  # code has three to four; an estimate must not be too low


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
        if not key and self.options.base_url is None:
            raise UsageError(f"no key for {self.model.name}: set ${self.model.key} or $EVOENGINEER_API_KEY")
        return openai.OpenAI(
            api_key=key or _NO_KEY_NEEDED,
            base_url=base_url,
            max_retries=0,
            timeout=openai.Timeout(self.options.timeout_seconds, connect=self.options.connect_seconds),
        )

    def estimate(self, system: str, user: str) -> Estimate:
        prompt = (len(system.encode()) + len(user.encode())) // _BYTES_PER_TOKEN + 16
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
                request.on_attempt(replace(failed.attempt, wait_seconds=0.0 if last else wait))
                if last:
                    what = f"{self.name}: {failed.attempt.message}"
                    raise ProposerError(what, fatal=not failed.again) from failed
                if request.stop.wait(wait):
                    raise Stopped from failed
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _ask(self, request: Request) -> Reply:
        import openai

        started = time.monotonic()
        try:
            # The body as it is: a broken one is told from a broken connection, and validating every field of the
            # answer would cost as much again as the call.
            # Endpoints that know the header do not bill a repeated call twice; the others ignore it.
            headers = {"Idempotency-Key": f"{request.run}/{request.number}"}
            body: str = self._client.post(
                "/chat/completions",
                body=self._parameters(request),
                options={"headers": headers},
                cast_to=_response_type(),
            ).text
        except openai.APITimeoutError as error:
            raise _failure(
                request, "timed_out", f"no answer within {self.options.timeout_seconds:g} s"
            ) from error
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise _failure(request, "disconnected", f"{type(cause).__name__}: {cause}") from error
        except openai.APIStatusError as error:
            raise _status_failure(request, error) from error
        except openai.APIError as error:
            raise _failure(request, "invalid_json", str(error)) from error
        return self._reply(request, body, time.monotonic() - started)

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
            data = json.loads(body)
            choice = data["choices"][0]
            text = choice["message"].get("content") or ""
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            raise _failure(
                request, "invalid_json", f"{type(error).__name__}: {error}: {body[:200]!r}"
            ) from error
        usage = self._usage(data.get("usage") or {})
        if not text.strip():
            reason = choice.get("finish_reason") or "no reason given"
            raise _failure(request, "empty", f"an empty answer ({reason})", usage)
        model = str(data.get("model") or self.model.model)
        return Reply(text, model, usage, str(choice.get("finish_reason") or ""), seconds)

    def _usage(self, usage: dict[str, Any]) -> Usage:
        given = int(usage.get("prompt_tokens") or 0)
        answered = int(usage.get("completion_tokens") or 0)
        details = usage.get("prompt_tokens_details") or {}
        cached = int(details.get("cached_tokens") or usage.get("prompt_cache_hit_tokens") or 0)
        price = self.model.price
        return Usage(given, answered, cached, 0 if price is None else price.nano_usd(given, answered, cached))

    def close(self) -> None:
        self._client.close()


@cache
def _response_type() -> Any:
    """The response of the HTTP library that the client is built on, which depends on the client's version."""
    from importlib import import_module
    from importlib.util import find_spec

    return import_module("httpx2" if find_spec("httpx2") else "httpx").Response


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
