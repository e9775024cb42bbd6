"""Whatever comes in at a door, no internal error comes out: flags, files of every kind, and endpoints' replies.

`make fuzz` makes 20,000 tries with new examples, `make test` a short sample that is the same every time.
"""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import PROFILE_VARIABLE
from tests.search.scripted import ScriptedJudge, reply, task

from evoengineer.archive.store import Archive
from evoengineer.cli import main
from evoengineer.errors import EvoEngineerError, UsageError
from evoengineer.experiment import run as session
from evoengineer.judge.protocol import Built
from evoengineer.judge.verdict import Verdict
from evoengineer.problem import catalog
from evoengineer.propose import endpoint as endpoints
from evoengineer.propose.fake_endpoint import FakeEndpoint
from evoengineer.propose.fake_script import load_script
from evoengineer.propose.parse import parse_reply
from evoengineer.propose.prices import Model, Price, find_model
from evoengineer.propose.protocol import ProposerError, Reply, Request
from evoengineer.propose.recording import FORMAT, Replay
from evoengineer.propose.retry import RetryPolicy
from evoengineer.search.settings import NAMES, read_file, resolve

MANY = os.environ.get(PROFILE_VARIABLE) == "random"
TRIES = int(os.environ.get("TRIES", "20000"))  # in all, of new examples


def tries(share: float, few: int) -> settings:
    """A share of the many, or a few that are always the same."""
    return settings(max_examples=max(1, math.ceil(TRIES * share)) if MANY else few)


class Instant(ScriptedJudge):
    """Judges at once, in the thread that asks."""

    def __init__(self) -> None:
        super().__init__(workers=1)
        self.pool.shutdown()

    def build(self, source: str) -> Future[Built]:
        done: Future[Built] = Future()
        done.set_result(self._build(source))
        return done

    def judge(self, source: str) -> Future[Verdict]:
        done: Future[Verdict] = Future()
        done.set_result(self._judge(source))
        return done

    def close(self) -> None:
        pass


# -- what is odd -------------------------------------------------------------------------------------------

WORDS = st.sampled_from([
    "", " ", "-", "--", "nan", "inf", "-inf", "-1", "0", "1", "2", "1e400", "9" * 30, "0x10", "1.5", "true", "toy",
    "softmax", "r", "run.toml", "no-such-file", "a-file", "a-folder", "a-file/x", "a-folder/x", "sim:rtx4090",
    "sim:", "cuda:99", "cuda:x", "free", "full", "own.py:mine", "own.py:", ":", "../..", "/", "/dev/null",
    "/proc/self/mem", "\x00", "a\x00b", "\ud800", "grüße", "x" * 300, "%s", "{}", "a\nb", "*", "http://127.0.0.1:1",
    "http://[", "ftp://x", "gpt-4.1", "m", "prompt", "order", "low",
])  # fmt: skip
# Places outside the folder that a try has for itself are named by WORDS alone: those are there already.
TEXT = st.one_of(
    WORDS, st.text(max_size=12).filter(lambda text: not text.startswith("/") and ".." not in text)
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    TEXT,
    st.integers(min_value=10**18, max_value=10**40),
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXT, inner, max_size=4)),
    max_leaves=8,
)


def toml_value(value: Any) -> str:
    """Enough of TOML for what is drawn here."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, list):
        return f"[{', '.join(toml_value(each) for each in value)}]"
    if isinstance(value, dict):
        inner = ", ".join(f"{json.dumps(str(key))} = {toml_value(each)}" for key, each in value.items())
        return f"{{{inner}}}"
    return '""'


def files(structured: st.SearchStrategy[str]) -> st.SearchStrategy[bytes]:
    """Files that are nearly right, and some that are not even text."""
    texts = structured.map(lambda text: text.encode("utf-8", "surrogatepass"))
    return st.one_of(texts, texts, texts, st.binary(max_size=60), st.just(b"x = " + b"[" * 5000))


@contextmanager
def place() -> Iterator[Path]:
    """A folder with a few files, which is the current one meanwhile."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as name:
        folder = Path(name)
        os.chdir(folder)
        try:
            (folder / "a-file").write_text("mine")
            (folder / "a-folder").mkdir()
            (folder / "run.toml").write_text('problem = "toy"\ntrials = 1\n')
            (folder / "own.py").write_text("mine = 3\n")
            yield folder
        finally:
            os.chdir(before)


@pytest.fixture(autouse=True)
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "open_judge", lambda settings: Instant())
    monkeypatch.setattr(session, "gather_task", lambda settings: task(name="toy"))
    monkeypatch.setattr(FakeEndpoint, "serve", lambda self: None)
    monkeypatch.setattr(
        catalog, "_ask", lambda requests: [{"error": f"problem {each['path']}"} for each in requests]
    )
    for name in ("OPENAI_API_KEY", "EVOENGINEER_API_KEY", "EVOENGINEER_HOME"):
        monkeypatch.delenv(name, raising=False)


def command(words: list[str], folder: Path) -> str:
    """Run it; what it said on stderr. Fails on an internal error."""
    os.environ["EVOENGINEER_HOME"] = str(folder)
    out, err = StringIO(), StringIO()
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = main(words)
    except SystemExit as ended:  # --help and --version
        code = int(ended.code or 0)
    finally:
        os.environ.pop("EVOENGINEER_HOME", None)
    said = err.getvalue()
    assert "internal error" not in said, said
    assert "Traceback" not in said, said
    assert code in (0, 1, 2), (code, said)
    if code == 2:
        assert said.startswith("evoengineer: "), said
    return said


# -- flags -------------------------------------------------------------------------------------------------

_COMMANDS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("evolve",): (
        *(f"--{name.replace('_', '-')}" for name in NAMES if name not in ("problem", "trials")),
        *("--config", "--name", "--archive", "--plain"),
    ),
    ("resume",): ("--max-cost", "--archive", "--trials", "--base-url", "--plain", "--timeout"),
    ("runs",): ("--problem", "--json", "--archive"),
    ("runs", "delete"): ("--archive",),
    ("runs", "rename"): ("--archive",),
    ("runs", "note"): ("--archive",),
    ("archive", "check"): ("--archive",),
    ("archive", "recover"): ("--archive", "--output"),
    ("archive", "merge"): ("--archive",),
    ("problems", "new"): ("--out",),
    ("problems", "adopt"): ("--out",),
    ("problems", "show"): ("--json",),
    ("experience", "list"): ("--library",),
    ("experience", "import"): ("--library",),
    ("experience", "forget"): ("--library", "--technique", "--problem", "--all"),
    ("show",): ("--proposal", "--best", "--insights", "--digest", "--archive"),
    ("export",): ("--proposal", "--output", "--archive"),
    ("bench", "--table"): (
        *("--suite", "--problems", "--methods", "--models", "--repeats", "--name", "--jobs", "--max-cost"),
        *("--max-seconds", "--max-tokens-total", "--archive", "--trials", "--seed"),
    ),
    ("fake-endpoint",): ("--port",),
    ("methods",): (),
    ("models",): (),
    ("problems",): ("--suite",),
    (): ("--version", "--help"),
}


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    verb = draw(st.sampled_from(sorted(_COMMANDS)))
    words = [*verb, *draw(st.lists(WORDS, max_size=2))]
    for flag in draw(st.lists(st.sampled_from((*_COMMANDS[verb], "--frobnicate")), max_size=4)):
        words.append(flag)
        if draw(st.integers(0, 4)):
            words.append(draw(TEXT))
    if verb == ("evolve",):
        words += ["--trials", "2", "--max-seconds", "0.5", "--attempts", "1"]
    return words


@tries(0.3, 60)
@given(words=lines())
def test_flags(words: list[str]) -> None:
    with place() as folder:
        command(words, folder)


@tries(0.02, 10)
@given(words=lines(), size=st.integers(0, 60_000), noise=st.binary(min_size=1, max_size=64))
def test_flags_on_a_damaged_archive(words: list[str], size: int, noise: bytes) -> None:
    with place() as folder:
        command(["evolve", "toy", "--trials", "2", "--name", "r"], folder)
        path = folder / "archive.db"
        with Archive(path) as archive:
            archive.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        data = bytearray(path.read_bytes())
        where = size % len(data)
        data[where : where + len(noise)] = noise
        path.write_bytes(data[: max(where + 1, len(data) - size % 3 * 4096)])
        command(words, folder)
        command(["archive", "check"], folder)


# -- files -------------------------------------------------------------------------------------------------

_KEYS = st.one_of(st.sampled_from(NAMES), st.text("abc_", min_size=1, max_size=3))
RUN_TOML = st.dictionaries(_KEYS, JSON, max_size=6).map(
    lambda data: "".join(f"{key} = {toml_value(value)}\n" for key, value in data.items())
)


@tries(0.18, 60)
@given(content=files(RUN_TOML))
def test_run_toml(content: bytes) -> None:
    with place() as folder:
        path = folder / "r.toml"
        path.write_bytes(content)
        try:
            chosen = resolve({"problem": "toy", "trials": 1}, read_file(path))
        except UsageError:
            pass
        else:
            assert chosen.trials == 1
        command(
            [
                "evolve",
                "toy",
                "--config",
                "r.toml",
                "--trials",
                "1",
                "--max-seconds",
                "0.5",
                "--attempts",
                "1",
            ],
            folder,
        )


_PRICE_KEYS = st.sampled_from(
    ["model", "aliases", "base_url", "key", "input", "cached", "output", "reasoning", "x"]
)
PRICES = st.dictionaries(
    st.sampled_from(["m", "gpt-4.1", "n"]),
    st.one_of(SCALARS, st.dictionaries(_PRICE_KEYS, JSON, max_size=5)),
    max_size=3,
).map(lambda models: f"models = {toml_value(models)}\n")


@tries(0.12, 60)
@given(content=files(PRICES))
def test_price_files(content: bytes) -> None:
    with place() as folder:
        path = folder / "prices.toml"
        path.write_bytes(content)
        try:
            model = find_model("m", path)
        except UsageError:
            return
        if model.price is not None:
            assert 0 <= model.price.nano_usd(1000, 1000, 10) < 1e300
        command(
            [
                "evolve",
                "toy",
                "--model",
                "m",
                "--prices",
                "prices.toml",
                "--trials",
                "1",
                "--max-seconds",
                "0.01",
            ],
            folder,
        )


_SCRIPT_KEYS = st.sampled_from(
    [
        "text",
        "file",
        "name",
        "thought",
        "delay_seconds",
        "faults",
        "retry_after",
        "input_tokens",
        "output_tokens",
        "x",
    ]
)
SCRIPTS = st.fixed_dictionaries(
    {
        "answer": st.one_of(
            SCALARS, st.lists(st.one_of(SCALARS, st.dictionaries(_SCRIPT_KEYS, JSON, max_size=4)), max_size=3)
        )
    },
    optional={"by": JSON, "requests_per_second": JSON, "concurrent": JSON, "other": JSON},
).map(lambda data: "".join(f"{key} = {toml_value(value)}\n" for key, value in data.items()))


@tries(0.1, 60)
@given(content=files(SCRIPTS))
def test_script_files(content: bytes) -> None:
    with place() as folder:
        (folder / "s.toml").write_bytes(content)
        with suppress(UsageError):
            load_script(folder / "s.toml")
        command(["fake-endpoint", "s.toml"], folder)


_GOOD = {"text": reply("k", time=5), "model": "m", "usage": {}, "finish": "stop", "seconds": 1.0}
ENTRIES = st.one_of(
    JSON,
    st.fixed_dictionaries(
        {"number": SCALARS, "prompt": SCALARS, "occurrence": SCALARS},
        optional={"reply": JSON, "failed": JSON, "billed": JSON},
    ),
    st.fixed_dictionaries(
        {
            "number": st.integers(0, 3),
            "prompt": st.just("p"),
            "occurrence": st.integers(0, 2),
            "reply": st.dictionaries(st.sampled_from([*_GOOD, "other"]), JSON, max_size=3).map(
                lambda odd: {**_GOOD, **odd}
            ),
        }
    ),
)
RECORDINGS = st.lists(ENTRIES, max_size=4).map(
    lambda entries: "".join(json.dumps(entry) + "\n" for entry in [FORMAT, *entries])
)


@tries(0.1, 60)
@given(content=files(RECORDINGS))
def test_recordings(content: bytes) -> None:
    with place() as folder:
        (folder / "x.jsonl").write_bytes(content)
        with suppress(UsageError):
            Replay(folder / "x.jsonl")
        command(
            [
                "evolve",
                "toy",
                "--replay",
                "x.jsonl",
                "--match",
                "order",
                "--trials",
                "2",
                "--max-seconds",
                "5",
            ],
            folder,
        )


# -- replies -----------------------------------------------------------------------------------------------

MESSAGES = st.one_of(
    JSON, st.fixed_dictionaries({}, optional={"content": JSON, "role": JSON, "refusal": JSON})
)
CHOICES = st.one_of(
    JSON, st.fixed_dictionaries({"message": MESSAGES}, optional={"finish_reason": JSON, "index": JSON})
)
USAGE = st.one_of(
    JSON,
    st.dictionaries(
        st.sampled_from(
            ["prompt_tokens", "completion_tokens", "prompt_tokens_details", "prompt_cache_hit_tokens"]
        ),
        st.one_of(JSON, st.fixed_dictionaries({"cached_tokens": JSON})),
        max_size=4,
    ),
)
BODIES = st.one_of(
    JSON,
    st.fixed_dictionaries(
        {"choices": st.lists(CHOICES, max_size=2)}, optional={"usage": USAGE, "model": JSON}
    ),
).map(json.dumps)


@tries(0.2, 100)
@given(body=st.one_of(BODIES, BODIES, st.text(max_size=30), st.just("[" * 20_000)))
def test_replies_of_endpoints(body: str) -> None:
    options = endpoints.EndpointOptions(
        base_url="http://127.0.0.1:1/v1", retry=RetryPolicy(attempts=1, first_seconds=0.001)
    )
    client = _client(options)

    def exchange(request: Request, answers: SimpleQueue[str | Exception]) -> None:
        answers.put(body)

    client._exchange = exchange  # type: ignore[method-assign]
    said: list[str] = []
    request = Request(
        "run", 1, "sys", "user", "p", 0, 7, on_attempt=lambda attempt: said.append(attempt.message)
    )
    try:
        answer = client.propose(request)
    except ProposerError:
        assert len(said) == 1
        said[0].encode()
        return
    _check_reply(answer)


_open: dict[str, endpoints.Endpoint] = {}


def _client(options: endpoints.EndpointOptions) -> endpoints.Endpoint:
    """One for all: opening an HTTP client takes longer than an example."""
    if "client" not in _open:
        _open["client"] = endpoints.Endpoint(Model("m", "m", None, "K", Price(2, 8, 0.5, "", None)), options)
    return _open["client"]


def _check_reply(answer: Reply) -> None:
    for text in (answer.text, answer.model, answer.finish):
        text.encode()
    usage = answer.usage
    for count in (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.nano_usd):
        assert 0 <= count < 2**62
    parsed = parse_reply(answer.text)
    assert parsed.code == "" or "__global__" in parsed.code or "PYBIND11_MODULE" in parsed.code


# -- problems ----------------------------------------------------------------------------------------------

_PIECES = st.sampled_from([
    "reference = lambda x: x", "reference = 3", "def reference(x):\n    return x + 1",
    "def reference(x):\n    return 'text'", "def reference(x):\n    raise ValueError('\ud800')",
    "def reference(x):\n    return x, x.sum()", "def reference(y):\n    return y",
    "cases = []", "cases = 7", "cases = [Case.check(n=1), Case.check(n=2), Case.check(n=3), Case.bench(n=8)]",
    "cases = [Case.check(n=-1), Case.check(n=2), Case.check(n=3), Case.bench(n=8)]",
    "cases = [Case.check(n='a'), Case.check(n=2.5), Case.check(n=None), Case.bench(n=float('nan'))]",
    "cases = [Case.bench(n=1)] * 5",
    "def make_inputs(case, generator):\n    return {'x': generator.normal(case.n, 3)}",
    "def make_inputs(case, generator):\n    return {'x': generator.nothing(case['n'])}",
    "def make_inputs(case, generator):\n    return [1]", "def make_inputs():\n    pass",
    "def make_inputs(case, generator):\n    return {}", "make_inputs = None",
    "tolerance = 3", "tolerance = Tolerance(relative={'float32': -1.0})", "tolerance = Tolerance(relative=None)",
    "distributions = ['normal']", "distributions = ['odd']", "distributions = 5", "distributions = []",
    "flops = 'n *'", "flops = 3", "flops = object()", "moved_bytes = '1/0'", "fast_math = 'yes'",
    "raise SystemExit(3)", "raise KeyboardInterrupt", "1 / 0", "def broken(:", "import no_such_module",
    "print('noise', end='')", "__doc__ = ''", "__doc__ = 3", "del Case", "class Model: pass", "get_inputs = 3",
    "def get_init_inputs():\n    return 5", "import sys; sys.modules.pop(__name__, None)",
])  # fmt: skip
_START = "from evoengineer.problem.model import Case, Tolerance\nimport torch\n"


@tries(0.03, 25)
@given(pieces=st.lists(_PIECES, max_size=8), raw=st.one_of(st.none(), st.none(), st.binary(max_size=40)))
def test_problem_files(pieces: list[str], raw: bytes | None) -> None:
    pytest.importorskip("torch")
    from evoengineer.problem.catalog import description_from_json
    from evoengineer.problem.describe import answered

    with place() as folder:
        path = folder / "problem.py"
        source = (_START + "\n".join(pieces) + "\n").encode("utf-8", "surrogatepass")
        path.write_bytes(source if raw is None else raw)
        with redirect_stdout(StringIO()):
            answer = answered({"path": str(path), "name": "odd", "baseline": None})
        json.dumps(answer)
        if "error" in answer:
            assert "problem" in answer["error"]
            return
        with suppress(EvoEngineerError):
            description_from_json(json.loads(json.dumps(answer)))
        sys.modules.pop("evoengineer_problem_problem", None)
