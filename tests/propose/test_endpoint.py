"""The endpoint client against the fake endpoint: real HTTP, all the ways in which it can fail."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import SimpleQueue

import pytest

from evoengineer.errors import EvoEngineerError, UsageError
from evoengineer.propose.endpoint import Endpoint, EndpointOptions, check_cost_cap
from evoengineer.propose.fake_endpoint import Answer, FakeEndpoint, Script, by_number, by_order
from evoengineer.propose.prices import Model, Price, find_model
from evoengineer.propose.protocol import Attempt, ProposerError, Reply, Request, Stopped
from evoengineer.propose.retry import RetryPolicy, retry_after

PRICE = Price(2.0, 8.0, 0.5, "test", None)
QUICK = RetryPolicy(attempts=4, first_seconds=0.01, longest_seconds=0.02)


class Asked:
    """A fake endpoint with a client, and the attempts that failed."""

    def __init__(self, script: Script, **options: object) -> None:
        self.limits = {
            name: options.pop(name) for name in ("requests_per_second", "concurrent") if name in options
        }
        self.options = {"retry": QUICK, "timeout_seconds": 5.0, **options}
        self.script = script
        self.attempts: list[Attempt] = []
        self.stop = threading.Event()

    def __enter__(self) -> Asked:
        self.fake = FakeEndpoint(self.script, **self.limits).__enter__()  # type: ignore[arg-type]
        model = Model("toy", "toy-1", None, "NO_SUCH_KEY", PRICE, bool(self.options.pop("reasoning", False)))
        self.client = Endpoint(model, EndpointOptions(base_url=self.fake.url, **self.options))  # type: ignore[arg-type]
        return self

    def __exit__(self, *error: object) -> None:
        self.client.close()
        self.fake.close()

    def ask(self, number: int = 1) -> Reply:
        return self.client.propose(
            Request("run", number, "sys", "user", "p", 0, 7, stop=self.stop, on_attempt=self.attempts.append)
        )


@pytest.fixture
def plain() -> Iterator[Asked]:
    with Asked(by_number([Answer("hello", input_tokens=1000, output_tokens=500)])) as asked:
        yield asked


def test_an_answer_with_its_tokens_and_cost(plain: Asked) -> None:
    reply = plain.ask()
    assert (reply.text, reply.model, reply.finish) == ("hello", "toy-1", "stop")
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (1000, 500)
    assert reply.usage.nano_usd == 1000 * 2000 + 500 * 8000
    assert reply.seconds > 0
    assert plain.attempts == []


def test_what_is_sent(plain: Asked) -> None:
    plain.ask(12)
    ask = plain.fake.asks[0]
    assert (ask.system, ask.user, ask.number, ask.key) == ("sys", "user", 12, "run/12")
    assert ask.body["model"] == "toy-1"
    assert ask.body["max_tokens"] == 16_384
    assert ask.body["temperature"] == 1.0
    assert "reasoning_effort" not in ask.body


def test_a_reasoning_model_gets_an_effort_and_no_temperature() -> None:
    with Asked(by_number(["hello"]), reasoning=True, reasoning_effort="high", max_tokens=99) as asked:
        asked.ask()
        body = asked.fake.asks[0].body
    assert body["reasoning_effort"] == "high"
    assert body["max_completion_tokens"] == 99
    assert "temperature" not in body
    assert "max_tokens" not in body


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("429", "rate_limited"),
        ("500", "server_error"),
        ("503", "server_error"),
        ("cut", "disconnected"),
        ("cut_before", "disconnected"),
        ("invalid_json", "invalid_json"),
        ("no_choices", "invalid_json"),
        ("empty", "empty"),
    ],
)
def test_a_failure_is_repeated_and_reported(fault: str, kind: str) -> None:
    with Asked(by_number([Answer("at last", faults=(fault, fault))])) as asked:
        assert asked.ask().text == "at last"
    assert [attempt.kind for attempt in asked.attempts] == [kind, kind]
    assert all(attempt.wait_seconds > 0 and attempt.number == 1 for attempt in asked.attempts)


def test_a_server_that_hangs_is_given_up_on() -> None:
    with Asked(by_number([Answer("at last", faults=("timeout",))]), timeout_seconds=0.3) as asked:
        assert asked.ask().text == "at last"
    assert [attempt.kind for attempt in asked.attempts] == ["timed_out"]


def test_retry_after_is_honoured() -> None:
    with Asked(by_number([Answer("at last", faults=("429",), retry_after="0.4")])) as asked:
        started = time.monotonic()
        asked.ask()
        assert time.monotonic() - started >= 0.4
    assert asked.attempts[0].wait_seconds == 0.4


def test_when_all_attempts_fail_the_proposal_is_given_up_but_not_the_run() -> None:
    with (
        Asked(by_number([Answer("never", faults=("500",) * 9)])) as asked,
        pytest.raises(ProposerError) as error,
    ):
        asked.ask()
    assert not error.value.fatal
    assert len(asked.attempts) == QUICK.attempts
    assert asked.attempts[-1].wait_seconds == 0


@pytest.mark.parametrize(
    ("status", "words"), [("401", "refused the key"), ("404", "no such model"), ("400", "refused")]
)
def test_a_refusal_is_fatal_and_not_repeated(status: str, words: str) -> None:
    with (
        Asked(by_number([Answer("never", faults=(status,) * 9)])) as asked,
        pytest.raises(ProposerError) as error,
    ):
        asked.ask()
    assert error.value.fatal
    assert words in str(error.value)
    assert len(asked.fake.asks) == 1


def test_a_stopped_run_does_not_wait_for_the_next_attempt() -> None:
    slow = RetryPolicy(attempts=3, first_seconds=30)
    with Asked(by_number([Answer("never", faults=("500",) * 3)]), retry=slow) as asked:
        threading.Timer(0.2, asked.stop.set).start()
        started = time.monotonic()
        with pytest.raises(Stopped):
            asked.ask()
        assert time.monotonic() - started < 5


def test_tokens_of_an_empty_answer_are_counted() -> None:
    with Asked(by_number([Answer("x", faults=("empty",), input_tokens=100, output_tokens=10)])) as asked:
        asked.ask()
    assert asked.attempts[0].tokens == 110
    assert asked.attempts[0].nano_usd == 100 * 2000 + 10 * 8000


def test_no_more_calls_at_once_than_allowed() -> None:
    with Asked(by_number([Answer("hi", delay_seconds=0.1)]), concurrency=2) as asked:
        threads = [threading.Thread(target=asked.ask, args=(number,)) for number in range(1, 7)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert asked.fake.most_at_once <= 2


def test_a_rate_limit_is_waited_for() -> None:
    patient = RetryPolicy(attempts=50, first_seconds=0.01, longest_seconds=0.05)
    with Asked(by_order(["hi"]), retry=patient, requests_per_second=20.0) as asked:
        assert [asked.ask(number).text for number in range(1, 5)] == ["hi"] * 4
    assert {attempt.kind for attempt in asked.attempts} == {"rate_limited"}


def test_an_estimate_is_never_too_low(plain: Asked) -> None:
    estimate = plain.client.estimate("s" * 400, "u" * 3600)
    assert estimate.tokens >= 4000 // 3 + 16_384
    assert estimate.nano_usd >= 16_384 * 8000


def test_an_unknown_price_with_a_cap_is_refused() -> None:
    unknown = find_model("my-local-model")
    assert unknown.price is None
    check_cost_cap(unknown, None)
    with pytest.raises(EvoEngineerError, match=r"price of 'my-local-model' is not known.*\$5"):
        check_cost_cap(unknown, 5.0)


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("EVOENGINEER_API_KEY", raising=False)
    with pytest.raises(UsageError, match=r"no key for gpt-4.1: set \$OPENAI_API_KEY"):
        Endpoint(find_model("gpt-4.1"))
    with pytest.raises(UsageError, match="--base-url"):
        Endpoint(find_model("my-local-model"))
    with pytest.raises(UsageError, match="must begin with http"):
        Endpoint(find_model("gpt-4.1"), EndpointOptions(base_url="localhost:80"))


def test_waits_grow_with_jitter_and_stay_below_the_longest() -> None:
    from random import Random

    policy = RetryPolicy(first_seconds=1, longest_seconds=8)
    waits = [policy.wait_seconds(attempt, Random(attempt), None) for attempt in range(1, 9)]
    for attempt, wait in enumerate(waits, 1):
        assert min(2 ** (attempt - 1), 8) / 2 <= wait <= min(2 ** (attempt - 1), 8)
    assert policy.wait_seconds(1, Random(0), 30.0) == 30.0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("3", 3.0),
        ("0.5", 0.5),
        ("-1", 0.0),
        ("soon", None),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 10.0),
    ],
)
def test_retry_after_in_all_forms(value: str | None, seconds: float | None) -> None:
    assert retry_after(value, now=90.0) == seconds


# -- endpoints that misbehave ------------------------------------------------------------------------------


class Bodies:
    """A server that sends these bytes, whatever it is asked, in pieces with a pause before each."""

    def __init__(self, body: bytes, *, piece: int = 2**20, pause: float = 0.0, repeat: int = 1) -> None:
        self.body, self.piece, self.pause, self.repeat = body, piece, pause, repeat
        self.closing = threading.Event()

    def __enter__(self) -> Bodies:
        bodies = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *words: object) -> None:
                pass

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(200)
                self.send_header("Content-Length", str(len(bodies.body) * bodies.repeat))
                self.end_headers()
                with suppress(OSError):
                    for _ in range(bodies.repeat):
                        for start in range(0, len(bodies.body), bodies.piece):
                            self.wfile.write(bodies.body[start : start + bodies.piece])
                            if bodies.closing.wait(bodies.pause):
                                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()

    def client(
        self, give_up: threading.Event | None = None, **options: object
    ) -> tuple[Endpoint, Request, list[Attempt]]:
        url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        retry = RetryPolicy(attempts=2, first_seconds=0.01)
        values = {"base_url": url, "timeout_seconds": 30.0, "retry": retry, **options}
        client = Endpoint(Model("toy", "toy-1", None, "NO_SUCH_KEY", PRICE), EndpointOptions(**values))  # type: ignore[arg-type]
        attempts: list[Attempt] = []
        request = Request(
            "run",
            1,
            "sys",
            "user",
            "p",
            0,
            7,
            on_attempt=attempts.append,
            give_up=give_up or threading.Event(),
        )
        return client, request, attempts

    def ask(self, give_up: threading.Event | None = None, **options: object) -> tuple[Reply, list[Attempt]]:
        client, request, attempts = self.client(give_up, **options)
        try:
            return client.propose(request), attempts
        finally:
            client.close()


def body_of(content: object = "hello", **more: object) -> bytes:
    data = {"choices": [{"message": {"content": content}, "finish_reason": "stop"}], **more}
    return json.dumps(data).encode()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": "one "}, {"type": "text", "text": "two"}], "one two"),
        (["one ", {"type": "image_url", "image_url": "x"}, {"text": "two"}, 7, None], "one two"),
        ([{"type": "text", "text": {"value": "inner"}}], "inner"),
        ("lone \ud83d surrogate", "lone ? surrogate"),
    ],
)
def test_content_in_every_form_that_holds_text(content: object, text: str) -> None:
    with Bodies(body_of(content)) as bodies:
        reply, _ = bodies.ask()
    assert reply.text == text
    reply.text.encode()


@pytest.mark.parametrize(
    "body",
    [
        body_of(12),
        body_of({"text": "x"}),
        body_of(True),
        b"[" * 100_000,
        b'{"choices": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b"7",
        b"[]",
        b'{"choices": {}}',
        b'{"choices": [7]}',
        b'{"choices": [{"message": "text"}]}',
        b"\xff\xfe\x00",
        b"",
    ],
)
def test_a_body_that_is_no_answer_is_a_call_that_failed(body: bytes) -> None:
    with Bodies(body) as bodies, pytest.raises(ProposerError) as error:
        bodies.ask()
    assert not error.value.fatal


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": "120", "completion_tokens": "30"}, (120, 30)),
        ({"prompt_tokens": 5.0, "completion_tokens": 7}, (5, 7)),
        ({"prompt_tokens": -4, "completion_tokens": 10**30}, (19, 18)),  # by the length of the texts
        ({"prompt_tokens": "many", "completion_tokens": [1]}, (19, 18)),
        ({"prompt_tokens": 3, "completion_tokens": 4, "prompt_tokens_details": "none"}, (3, 4)),
        ({"prompt_tokens": 3, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 9}}, (3, 4)),
        ("text", (0, 0)),
        ([1, 2], (0, 0)),
    ],
)
def test_usage_is_believed_only_where_it_can_be_true(usage: object, counts: tuple[int, int]) -> None:
    with Bodies(body_of(usage=usage)) as bodies:
        reply, _ = bodies.ask()
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == counts
    assert 0 <= reply.usage.cached_tokens <= reply.usage.input_tokens
    assert 0 <= reply.usage.nano_usd < 2**63


def test_the_time_limit_holds_for_a_call_as_a_whole() -> None:
    """An endpoint that drips a byte now and then kept a call open for ever."""
    with Bodies(body_of("x" * 10_000), piece=1, pause=0.05) as bodies, pytest.raises(ProposerError) as error:
        bodies.ask(timeout_seconds=0.4)
    assert "no whole answer within 0.4 s" in str(error.value)


def test_half_an_answer_is_no_answer_when_the_time_is_up() -> None:
    """On a busy machine the thread that reads was the first to see that the time was up, and handed on what it had."""
    with Bodies(body_of("x" * 10_000), piece=1, pause=0.01) as bodies:
        client, request, _ = bodies.client(timeout_seconds=0.1)
        answers: SimpleQueue[str | Exception] = SimpleQueue()
        client._exchange(request, answers)
    failed = answers.get_nowait()
    assert isinstance(failed, Exception)
    assert "no whole answer within 0.1 s" in str(failed)


def test_a_call_under_way_is_given_up_when_the_time_of_the_run_is_over() -> None:
    give_up = threading.Event()
    give_up.set()
    with Bodies(body_of("x" * 10_000), piece=1, pause=0.05) as bodies, pytest.raises(Stopped):
        bodies.ask(give_up)


def test_an_endless_answer_is_refused_by_its_size() -> None:
    with Bodies(b"x" * 2**20, repeat=300) as bodies, pytest.raises(ProposerError) as error:
        bodies.ask()
    assert "longer than 16 MB" in str(error.value)


def test_a_server_of_ones_own_needs_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("EVOENGINEER_API_KEY", raising=False)
    prices = tmp_path / "prices.toml"
    prices.write_text(
        '[models.near]\nbase_url = "http://localhost:1/v1"\nkey = "MY_KEY"\n'
        '[models.mine]\nbase_url = "http://box.example:8000/v1"\n'
        '[models.theirs]\nbase_url = "https://api.example/v1"\nkey = "MY_KEY"\n'
    )
    for name in ("near", "mine"):
        Endpoint(find_model(name, prices)).close()
    with pytest.raises(UsageError, match=r"set \$MY_KEY"):
        Endpoint(find_model("theirs", prices))
