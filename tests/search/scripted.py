"""A judge and kernels for tests of the search: a text says itself what its verdict is.

kernel("fast", time=50)                    valid, 50 us
kernel("broken", outcome="compile_error")  refused
kernel("twin", time=50, build="b1")        another text with the machine code "b1"
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import fields
from typing import Any

from evoengineer.judge.protocol import Built
from evoengineer.judge.verdict import Outcome, Timing, Verdict
from evoengineer.kernel.text import Kernel
from evoengineer.propose.fake_script import reply_text
from evoengineer.search.task import Task
from evoengineer.sim.timing.profile import Finding, LaunchProfile

BASELINE_US = 100.0
_DIRECTIVE = re.compile(r'judge = "([^"]*)"')


def kernel(name: str, **directives: object) -> str:
    words = " ".join(f"{key}={value}" for key, value in {"id": name, **directives}.items())
    return (
        "#include <torch/extension.h>\n"
        f'static const char* judge = "{words}";\n'
        "__global__ void run(float* x) {}\n"
        "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}\n"
    )


def reply(name: str, thought: str = "because it is faster", **directives: object) -> str:
    return reply_text(kernel(name, **directives), name, thought)


def task(**changes: Any) -> Task:
    values: dict[str, Any] = {
        "name": "toy",
        "title": "A toy problem.",
        "reference": "def reference(x):\n    return x",
        "arguments": ("x: float32 tensor [4, 4]",),
        "outputs": ("float32 tensor [4, 4]",),
        "cases": ("rows=1", "rows=7"),
        "device": "sim:rtx4090",
        "card": ("Toy card, 128 SMs",),
        "cuda": "13.0",
        "tolerance": "Errors up to 1e-4 are accepted.",
        "baseline": kernel("baseline", time=BASELINE_US),
    }
    return Task(**{**values, **changes})


class ScriptedJudge:
    """Deterministic, instant unless a text asks for a delay; counts what it was asked."""

    def __init__(self, workers: int = 4) -> None:
        self.pool = ThreadPoolExecutor(workers)
        self.built: Counter[str] = Counter()
        self.judged: Counter[str] = Counter()
        self._lock = threading.Lock()

    def build(self, source: str) -> Future[Built]:
        return self.pool.submit(self._build, source)

    def judge(self, source: str) -> Future[Verdict]:
        return self.pool.submit(self._judge, source)

    def close(self) -> None:
        self.pool.shutdown()

    def _build(self, source: str) -> Built:
        with self._lock:
            self.built[directives(source).get("id", "?")] += 1
        verdict = verdict_of(source)
        stopped = verdict if not verdict.outcome.compiled else None
        return Built(Kernel(source).id, "" if stopped else verdict.build, stopped)

    def _judge(self, source: str) -> Verdict:
        words = directives(source)
        with self._lock:
            self.judged[words.get("id", "?")] += 1
        time.sleep(float(words.get("delay", 0)))
        return verdict_of(source)


def directives(source: str) -> dict[str, str]:
    match = _DIRECTIVE.search(source)
    if match is None:
        return {"outcome": "crashed"}
    return dict(word.split("=", 1) for word in match[1].split())


def profile_of(bound: str, time_ns: float = 1.0, findings: tuple[Finding, ...] = ()) -> LaunchProfile:
    """A launch of which only this is known."""
    values: dict[str, Any] = dict.fromkeys((each.name for each in fields(LaunchProfile)), 0)
    values |= {"kernel": "k", "device": "sim:rtx4090", "grid": (1, 1, 1), "block": (1, 1, 1), "hot_lines": ()}
    return LaunchProfile(**{**values, "bound": bound, "time_ns": time_ns, "findings": findings})


def verdict_of(source: str) -> Verdict:
    words = directives(source)
    outcome = Outcome(words.get("outcome", "valid"))
    timing = None
    if outcome is Outcome.VALID:
        at = float(words.get("time", BASELINE_US))
        width = float(words.get("width", 0))
        timing = Timing(
            device="sim:rtx4090",
            simulated=True,
            time_us=at,
            interval_us=(at - width, at + width),
            baseline_us=BASELINE_US,
            speedup=BASELINE_US / at,
            speedup_interval=(BASELINE_US / (at + width), BASELINE_US / max(at - width, 1e-9)),
            profile=words.get("profile", "").replace("_", " "),
            launches=(profile_of(words["bound"]),) if "bound" in words else (),
        )
    compiled = outcome.compiled
    build = words.get("build") or hashlib.sha256(source.encode()).hexdigest()[:12]
    return Verdict(
        outcome=outcome,
        summary=f"scripted {outcome}",
        evidence=f"evidence of {words.get('id', '?')}",
        timing=timing,
        problem="toy",
        device="sim:rtx4090",
        kernel=Kernel(source).id,
        build=build if compiled else "",
        seconds={"judge": time.time() % 1},
    )
