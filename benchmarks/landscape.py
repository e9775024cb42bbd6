"""A made-up landscape for comparing methods by the thousand: no compiler, no GPU, kernels whose time is a formula.

A kernel's text looks like CUDA: a line for each technique that it uses, in the words by which the experience library
recognises it, and three sizes, either as constants that the tuner finds or hidden as literals. So techniques and
knobs are read by the real machinery. The time is the light plus eight losses, one for each thing that can bound it:

- A technique lowers two losses (to 45 to 75%) and raises another (to 105 to 130%). Which ones depends on the kind of
  operation, of which there are four, so that problems of a kind resemble each other; by how much depends on the
  problem, too.
- Three pairs of techniques pay together only: either alone makes everything 20% slower, both take it to 60%. Three
  pairs are in each other's way: both make everything 60% slower. Which ones depends on the kind. So there are several
  designs that no single step improves, and two of them can have different strengths.
- Each size has a best value; every step of two away from it costs 10%, 40%, 90%. One technique moves it.

The judge knows the two faults of the noisy engineer. Nothing here is about real kernels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, fields
from functools import cached_property
from random import Random
from typing import Any, TypeVar

from evoengineer.experience.techniques import present
from evoengineer.judge.protocol import Built
from evoengineer.judge.verdict import Outcome, Timing, Verdict
from evoengineer.kernel.text import Kernel
from evoengineer.propose.rewriter.change import Change
from evoengineer.propose.rewriter.change import Task as Rewriting
from evoengineer.search.task import Task
from evoengineer.sim.timing.explain import bound_name
from evoengineer.sim.timing.profile import LaunchProfile

BOUNDS = ("dram", "l2", "lsu", "latency", "issue", "fma", "barrier", "start")
LIGHT_US = 20.0
T = TypeVar("T")

# How each technique looks in a text: a line that `experience/techniques.toml` recognises, and no other.
MARKS = {
    "shared tile": "    __shared__ float tile[1024];",
    "asynchronous copies": "    __pipeline_memcpy_async(to, from, 16);",
    "several buffers": "    stage ^= 1;",
    "16 bytes per access": "    const float4 wide = load(x);",
    "tile in registers": "    float corner[8][4];",
    "values kept in registers": "    float kept[8];",
    "shuffles": "    v += __shfl_xor_sync(0xffffffffu, v, 1);",
    "unrolled loops": "    #pragma unroll",
    "streaming hints": "    __stcs(y, v);",
    "read-only loads": "    v = __ldg(x);",
    "fast intrinsics": "    v = __expf(v);",
    "resident blocks": "    grid = attribute(cudaDevAttrMultiProcessorCount);",
}
SIZES = {"THREADS": 256, "TILE": 16, "UNROLL": 4}  # where the baseline begins
_LARGEST = 1024
REFERENCES = {
    "product": "return a @ b",
    "normalisation": "return torch.softmax(x, -1)",
    "reduction": "return x.sum(1)",
    "elementwise": "return x * torch.sigmoid(x)",
}


def text_of(techniques: frozenset[str], sizes: Mapping[str, int], exposed: bool = False) -> str:
    """A kernel with these techniques and sizes."""
    body = "\n".join(MARKS[name] for name in MARKS if name in techniques)
    form = "constexpr int {} = {};" if exposed else "static const int k_{}{{{}}};"
    lines = "\n".join(form.format(name, size) for name, size in sizes.items())
    return (
        f"#include <torch/extension.h>\n{lines}\n__global__ void run(float* x, float* y) {{\n    float v = expf(*x);\n"
        f"{body}\n    y[0] = x[0];\n}}\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{}}\n"
    )


@dataclass(frozen=True)
class Design:
    """What a text says it is."""

    techniques: frozenset[str]
    sizes: Mapping[str, int]
    exposed: bool

    @classmethod
    def of(cls, source: str) -> Design:
        found = re.findall(r"(constexpr int |static const int k_)(\w+)(?: = |\{)(\d+)", source)
        sizes = {name: int(size) for _, name, size in found if name in SIZES}
        return cls(present(source) & MARKS.keys(), sizes, any(form == "constexpr int " for form, *_ in found))

    def text(
        self, *, add: frozenset[str] = frozenset(), drop: frozenset[str] = frozenset(), **sizes: int
    ) -> str:
        return text_of((self.techniques | add) - drop, {**self.sizes, **sizes}, self.exposed)


@dataclass(frozen=True)
class Landscape:
    """One problem."""

    number: int
    kind: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", tuple(REFERENCES)[self.number % len(REFERENCES)])

    @property
    def name(self) -> str:
        return f"landscapes/{self.kind}/{self.number}"

    @cached_property
    def effects(self) -> dict[str, dict[str, float]]:
        """By technique and bound, what a loss is multiplied by."""
        random = Random(f"landscape {self.number}")
        return {
            name: {bound: factor ** random.uniform(0.6, 1.4) for bound, factor in usual.items()}
            for name, usual in usual_effects(self.kind).items()
        }

    @cached_property
    def weights(self) -> dict[str, float]:
        random = Random(f"weights {self.number}")
        return {name: 10 ** random.uniform(0.3, 2.0) for name in BOUNDS}

    @cached_property
    def pairs(self) -> tuple[tuple[frozenset[str], ...], tuple[frozenset[str], ...]]:
        """Techniques that pay together only, and those that are in each other's way."""
        random = Random(f"pairs {self.kind}")
        names = random.sample(tuple(MARKS), len(MARKS))
        made = [frozenset(names[place : place + 2]) for place in range(0, len(names), 2)]
        return tuple(made[:3]), tuple(made[3:])

    @cached_property
    def best_sizes(self) -> dict[str, tuple[int, str]]:
        """The best value of each size as a power of two, and the technique that moves it by one step."""
        random = Random(f"sizes {self.number}")
        return {
            name: (start.bit_length() - 1 + random.choice((-2, -1, 0, 1, 2)), random.choice(tuple(MARKS)))
            for name, start in SIZES.items()
        }

    def losses(self, design: Design) -> dict[str, float]:
        losses = dict(self.weights)
        for name in sorted(design.techniques):
            for bound, factor in self.effects[name].items():
                losses[bound] *= factor
        everything = 1.0
        together, rivals = self.pairs
        for pair in together:
            count = len(pair & design.techniques)
            everything *= (1.0, 1.2, 0.6)[count]
        for pair in rivals:
            everything *= 1.6 if pair <= design.techniques else 1.0
        for name, (best, mover) in self.best_sizes.items():
            away = design.sizes.get(name, SIZES[name]).bit_length() - 1 - best - (mover in design.techniques)
            everything *= 1.0 + 0.1 * away * away
        return {bound: loss * everything for bound, loss in losses.items()}

    def time_us(self, design: Design) -> float:
        return LIGHT_US + sum(self.losses(design).values())

    def baseline(self) -> str:
        return text_of(frozenset(), SIZES)

    def task(self) -> Task:
        return Task(
            self.name, "A made-up problem.", f"def reference(x):\n    {REFERENCES[self.kind]}", ("x",), ("y",), (),
            "sim:rtx4090", ("a card",), "13.0", "exact", self.baseline(), light_us=LIGHT_US, light_reason="made up",
        )  # fmt: skip


def usual_effects(kind: str) -> dict[str, dict[str, float]]:
    """What techniques do to the losses of a kind of operation."""
    random = Random(f"kind {kind}")
    found = {}
    for name in MARKS:
        first, second, third = random.sample(BOUNDS, 3)
        found[name] = {
            first: random.uniform(0.45, 0.75),
            second: random.uniform(0.45, 0.75),
            third: random.uniform(1.05, 1.3),
        }
    return found


@dataclass(frozen=True)
class Adding:
    """A rule: take a technique up."""

    name: str

    @property
    def thought(self) -> str:
        return f"Taking up {self.name} moves the limit."

    def changes(self, source: str, task: Rewriting, random: Random) -> Iterator[Change]:
        design = Design.of(source)
        if self.name not in design.techniques:
            yield Change(self.name, design.text(add=frozenset({self.name})))


@dataclass(frozen=True)
class Dropping:
    """A rule: give a technique up."""

    technique: str

    @property
    def name(self) -> str:
        return f"no {self.technique}"

    @property
    def thought(self) -> str:
        return f"Without {self.technique} there is room for others."

    def changes(self, source: str, task: Rewriting, random: Random) -> Iterator[Change]:
        design = Design.of(source)
        if self.technique in design.techniques:
            yield Change(self.name, design.text(drop=frozenset({self.technique})))


@dataclass(frozen=True)
class Turning:
    """A rule: another size."""

    size: str

    @property
    def name(self) -> str:
        return f"another {self.size}"

    @property
    def thought(self) -> str:
        return f"Another {self.size} fits the card better."

    def changes(self, source: str, task: Rewriting, random: Random) -> Iterator[Change]:
        design = Design.of(source)
        now = design.sizes.get(self.size, SIZES[self.size])
        for size in (now * 2, now // 2):
            if 1 <= size <= _LARGEST:
                yield Change(f"{self.size} {size}", design.text(**{self.size: size}))


RULES = (*map(Adding, MARKS), *map(Dropping, MARKS), *map(Turning, SIZES))


def treats(kind: str) -> dict[str, tuple[str, ...]]:
    """What an engineer knows: what a technique usually lowers on such an operation, in the words of profiles."""
    return {
        name: tuple(bound_name(bound) for bound, factor in effects.items() if factor < 1.0)
        for name, effects in usual_effects(kind).items()
    }


class LandscapeCraft:
    """What the noisy engineer does to these texts when it is asked to."""

    def combined(self, first: str, second: str, share: float, random: Random) -> Change | None:
        mine, theirs = Design.of(first), Design.of(second)
        taken = frozenset(
            name for name in sorted(theirs.techniques - mine.techniques) if random.random() < share
        )
        return Change("of both", mine.text(add=taken)) if taken else None

    def ported(self, source: str, technique: str) -> Change | None:
        if technique not in MARKS:
            return None
        return Change(f"ported {technique}", Design.of(source).text(add=frozenset({technique})))

    def exposed(self, source: str, random: Random) -> Change | None:
        """With one of the sizes a step up or down."""
        design = Design.of(source)
        name = random.choice(tuple(SIZES))
        size = design.sizes.get(name, SIZES[name])
        size = random.choice([each for each in (size * 2, size // 2) if 1 <= each <= _LARGEST])
        return Change("sizes as constants", text_of(design.techniques, {**design.sizes, name: size}, True))


class LandscapeJudge:
    """Instant and exact."""

    def __init__(self, landscape: Landscape) -> None:
        self.landscape = landscape
        self.baseline_us = landscape.time_us(Design.of(landscape.baseline()))

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
        design = Design.of(source)
        losses = self.landscape.losses(design)
        time_us = self.landscape.time_us(design)
        bound = max(BOUNDS, key=lambda name: losses[name])
        speedup = self.baseline_us / time_us
        timing = Timing(
            "sim:rtx4090", True, time_us, (time_us, time_us), self.baseline_us, speedup, (speedup, speedup),
            speed_of_light_us=LIGHT_US, profile=f"run: bound by {bound_name(bound)}",
            launches=(_launch(bound, time_us, design),),
        )  # fmt: skip
        return _done(Verdict(Outcome.VALID, "right", timing=timing, kernel=kernel, build=kernel))

    def close(self) -> None:
        pass


def _launch(bound: str, time_us: float, design: Design) -> LaunchProfile:
    """With what tells designs apart: memory strategy and work per thread."""
    registers = 40 + 40 * ("tile in registers" in design.techniques)
    work = 8.0 * (1 + len(design.techniques & {"16 bytes per access", "values kept in registers"}) * 3)
    threads = design.sizes.get("THREADS", 256)
    values: dict[str, Any] = dict.fromkeys((each.name for each in fields(LaunchProfile)), 0)
    values |= {
        "kernel": "run",
        "device": "sim:rtx4090",
        "grid": (1, 1, 1),
        "block": (threads, 1, 1),
        "hot_lines": (),
        "occupancy_limit": "registers",
        "registers": registers,
        "shared_bytes_per_block": 4096 if "shared tile" in design.techniques else 0,
        "l1_bytes": work * threads,
    }
    return LaunchProfile(**{**values, "bound": bound, "time_ns": time_us * 1e3, "findings": ()})


def _done(value: T) -> Future[T]:
    future: Future[T] = Future()
    future.set_result(value)
    return future
