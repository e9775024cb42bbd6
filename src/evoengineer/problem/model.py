"""The nouns of a problem: Case, Tolerance, Problem.

A problem is what is optimised: a PyTorch reference, inputs, cases, tolerance and a baseline kernel. This
module holds the records only: `catalog.py` finds problems, `live.py` runs their files, `inputs.py` draws inputs.
Nothing here imports torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType

from evoengineer.errors import UsageError


class Distribution(StrEnum):
    """How the values of floating-point inputs are drawn (see `inputs.Generator.values`)."""

    NORMAL = "normal"  # mean 0, deviation 1
    SHIFTED = "shifted"  # mean 3, deviation 2: catches variance and sign assumptions
    LARGE = "large"  # deviation 30: overflow of exp, cancellation
    NEAR_CONSTANT = "near_constant"  # 1 with deviation 1e-2
    INTEGERS = "integers"  # small whole numbers: sums and products are exact
    SMALL = "small"  # deviation 1e-3: an epsilon that is left out shows
    SPIKED = "spiked"  # far below zero, one of each row far above the others: for what looks for a maximum
    # Like the timed inputs, but for some rows of other distributions and a few very large values: whoever looks at some
    # places takes them for ordinary. For the bench case alone.
    MIXED = "mixed"
    OWN = "own"  # as a KernelBench file draws them itself


ALL_DISTRIBUTIONS = (
    Distribution.NORMAL,
    Distribution.SHIFTED,
    Distribution.LARGE,
    Distribution.NEAR_CONSTANT,
    Distribution.INTEGERS,
    Distribution.MIXED,
)  # of a problem that does not say which


class CaseKind(StrEnum):
    """What a case is for."""

    CHECK = "check"  # small and awkward: decides correctness
    BENCH = "bench"  # carries the objective


@dataclass(frozen=True, slots=True)
class Case:
    """One shape of the inputs: named integers that `make_inputs` reads as `case["rows"]` or `case.rows`."""

    kind: CaseKind
    sizes: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def check(cls, **sizes: int) -> Case:
        return cls(CaseKind.CHECK, MappingProxyType(dict(sizes)))

    @classmethod
    def bench(cls, **sizes: int) -> Case:
        return cls(CaseKind.BENCH, MappingProxyType(dict(sizes)))

    @property
    def name(self) -> str:
        """`rows=7,columns=33`: unique within a problem, and readable in a verdict."""
        return ",".join(f"{name}={size}" for name, size in self.sizes.items()) or str(self.kind)

    def __getitem__(self, name: str) -> int:
        return self.sizes[name]

    def __getattr__(self, name: str) -> int:
        try:
            return self.sizes[name]
        except KeyError:
            raise AttributeError(f"the case has no size {name!r}; it has: {', '.join(self.sizes)}") from None


DEFAULT_RELATIVE = MappingProxyType({"float64": 1e-9, "float32": 1e-4, "float16": 1e-2, "bfloat16": 1e-2})
"""Largest error by dtype, relative to the magnitude of the element plus the scale (RMS) of the output."""


ORDER_EPSILONS = MappingProxyType({"float64": 4096.0, "float32": 256.0, "float16": 4.0, "bfloat16": 1.0})
"""What a straightforward kernel may add to PyTorch's error by summing in another order, in units of the dtype's
epsilon. TF32 or half-precision arithmetic in a float32 problem lies far above."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a result may lie from the float64 reference.

    Two bounds hold at once: `relative`, and `times_pytorch` times the error that PyTorch itself makes in the
    problem's dtype, which is what catches a shortcut through a lower precision. A problem that needs other
    values says why in `reason`.
    """

    relative: Mapping[str, float] = field(default_factory=lambda: DEFAULT_RELATIVE)
    times_pytorch: float = 4.0
    reason: str = ""

    def __post_init__(self) -> None:
        unknown = set(self.relative) - set(DEFAULT_RELATIVE)
        if unknown:
            raise UsageError(
                f"tolerance: unknown dtype {', '.join(sorted(unknown))}; valid: {', '.join(DEFAULT_RELATIVE)}"
            )
        changed = dict(self.relative) != dict(DEFAULT_RELATIVE) or self.times_pytorch != 4.0
        if changed and not self.reason:
            raise UsageError("tolerance: a value that is not the default needs a reason=…")

    def bound(self, dtype: str) -> float:
        """The relative bound for an output of that dtype; 0 (exact) for integers and booleans."""
        return self.relative.get(dtype, DEFAULT_RELATIVE.get(dtype, 0.0))


@dataclass(frozen=True, slots=True)
class Problem:
    """As loaded: everything but the live PyTorch code, which `path` leads to."""

    name: str  # "vector_add", "kernels91/matmul/square"
    path: Path  # the problem.py or the KernelBench file
    title: str  # first line of the file's docstring
    reference_source: str  # what prompts show
    cases: tuple[Case, ...]
    tolerance: Tolerance
    distributions: tuple[Distribution, ...]
    baseline: Path | None  # baseline.cu; None for a bare KernelBench file
    form: str  # "folder" or "kernelbench"
    flops: str = ""  # optional formula over the case's sizes, e.g. "2*m*n*k"
    moved_bytes: str = ""  # optional formula; otherwise inputs + outputs
    fast_math: bool = False
    half_operators: bool = True  # whether `a * b` on __half compiles in a text that does not say

    @property
    def check_cases(self) -> tuple[Case, ...]:
        return tuple(case for case in self.cases if case.kind is CaseKind.CHECK)

    @property
    def check_distributions(self) -> tuple[Distribution, ...]:
        """What check cases are drawn from."""
        return tuple(each for each in self.distributions if each is not Distribution.MIXED)

    @property
    def bench_case(self) -> Case:
        return next(case for case in self.cases if case.kind is CaseKind.BENCH)


def sizes_text(sizes: Sequence[int]) -> str:
    """`[4096, 1024]`, as PyTorch writes a shape."""
    return "[" + ", ".join(str(size) for size in sizes) + "]"
