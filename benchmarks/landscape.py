"""A made-up landscape for comparing methods by the thousand: no compiler, no GPU, kernels whose time is a formula.

A kernel is a list of eight levels, one for each thing that can bound it. Every level above 0 halves that loss, and
beyond the second step it doubles the loss of a partner, so that greedy steps run into walls. Weights and partners are
drawn from the problem's number. The judge knows the two faults of the noisy engineer. Nothing here is about
real kernels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, fields
from random import Random
from typing import Any, TypeVar

from evoengineer.judge.protocol import Built
from evoengineer.judge.verdict import Outcome, Timing, Verdict
from evoengineer.kernel.text import Kernel
from evoengineer.propose.rewriter.change import Change
from evoengineer.propose.rewriter.change import Task as Rewriting
from evoengineer.search.task import Task
from evoengineer.sim.timing.explain import bound_name
from evoengineer.sim.timing.profile import LaunchProfile

BOUNDS = ("dram", "l2", "lsu", "latency", "issue", "fma", "barrier", "start")
MOST = 5
LIGHT_US = 20.0
T = TypeVar("T")


def text_of(levels: dict[str, int]) -> str:
    lines = "\n".join(f"constexpr int level_{name} = {level};" for name, level in levels.items())
    return (
        f"#include <torch/extension.h>\n{lines}\n"
        "__global__ void run(const float* x, float* y) { y[0] = x[0]; }\n"
        "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}\n"
    )


def levels_of(source: str) -> dict[str, int]:
    return {name: int(level) for name, level in re.findall(r"level_(\w+) = (\d+);", source)}


@dataclass(frozen=True)
class Landscape:
    """One problem."""

    number: int

    def losses(self, levels: dict[str, int]) -> dict[str, float]:
        random = Random(f"landscape {self.number}")
        weights = {name: 10 ** random.uniform(0.3, 2.0) for name in BOUNDS}
        partners = dict(zip(BOUNDS, random.sample(BOUNDS, len(BOUNDS)), strict=True))
        losses = {name: weights[name] * 0.5 ** levels.get(name, 0) for name in BOUNDS}
        for name in BOUNDS:
            losses[partners[name]] *= 2.0 ** max(0, levels.get(name, 0) - 2)
        return losses

    def task(self) -> Task:
        return Task(
            f"landscape{self.number}", "A made-up problem.", "def reference(x):\n    return x", ("x",), ("y",), (),
            "sim:rtx4090", ("a card",), "13.0", "exact", text_of(dict.fromkeys(BOUNDS, 0)),
            light_us=LIGHT_US, light_reason="made up",
        )  # fmt: skip


@dataclass(frozen=True)
class Step:
    """A rule: one level up or down."""

    bound: str

    @property
    def name(self) -> str:
        return self.bound

    @property
    def thought(self) -> str:
        return f"Another level of {self.bound} moves the limit."

    def changes(self, source: str, task: Rewriting, random: Random) -> Iterator[Change]:
        levels = levels_of(source)
        for step in (1, 2, -1):
            level = levels.get(self.bound, 0) + step
            if 0 <= level <= MOST:
                yield Change(f"{self.bound} {level}", text_of({**levels, self.bound: level}))


RULES = tuple(Step(bound) for bound in BOUNDS)
TREATS = {bound: (bound_name(bound),) for bound in BOUNDS}


class LandscapeJudge:
    """Instant and exact."""

    def __init__(self, landscape: Landscape) -> None:
        self.landscape = landscape
        self.baseline_us = self._time_us(dict.fromkeys(BOUNDS, 0))

    def build(self, source: str) -> Future[Built]:
        kernel = Kernel(source).id
        if "not_declared_anywhere" in source:
            refused = Verdict(
                Outcome.COMPILE_ERROR, "identifier not_declared_anywhere is undefined", kernel=kernel
            )
            return _done(Built(kernel, "", refused))
        return _done(Built(kernel, kernel))

    def judge(self, source: str) -> Future[Verdict]:
        kernel = Kernel(source).id
        if "3.0f * (" in source:
            wrong = Verdict(
                Outcome.WRONG, "y differs by a factor of 3", "y[0] is 3, not 1", kernel=kernel, build=kernel
            )
            return _done(wrong)
        levels = levels_of(source)
        losses = self.landscape.losses(levels)
        time_us = self._time_us(levels)
        bound = max(BOUNDS, key=lambda name: losses[name])
        speedup = self.baseline_us / time_us
        timing = Timing(
            "sim:rtx4090", True, time_us, (time_us, time_us), self.baseline_us, speedup, (speedup, speedup),
            speed_of_light_us=LIGHT_US, profile=f"run: bound by {bound_name(bound)}",
            launches=(_launch(bound, time_us),),
        )  # fmt: skip
        return _done(Verdict(Outcome.VALID, "right", timing=timing, kernel=kernel, build=kernel))

    def close(self) -> None:
        pass

    def _time_us(self, levels: dict[str, int]) -> float:
        return LIGHT_US + sum(self.landscape.losses(levels).values())


def _launch(bound: str, time_us: float) -> LaunchProfile:
    values: dict[str, Any] = dict.fromkeys((each.name for each in fields(LaunchProfile)), 0)
    values |= {
        "kernel": "run",
        "device": "sim:rtx4090",
        "grid": (1, 1, 1),
        "block": (1, 1, 1),
        "hot_lines": (),
    }
    return LaunchProfile(**{**values, "bound": bound, "time_ns": time_us * 1e3, "findings": ()})


def _done(value: T) -> Future[T]:
    future: Future[T] = Future()
    future.set_result(value)
    return future
