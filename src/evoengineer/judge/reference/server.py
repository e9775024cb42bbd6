"""`python -m evoengineer.judge.reference.server INPUTS OUTPUTS`: where PyTorch lives.

A process of its own for the sake of the candidate's honesty (the reference's results never enter the
candidate's process) and of speed (importing torch overlaps with compiling). Commands are JSON lines on standard
input, answered in order on standard output. INPUTS and OUTPUTS are file descriptors of shared memory: inputs are
written to one, results read from the other. On a real GPU the runner holds them, too; on the simulated one the
judge carries the contents to and from the device, past the candidate's process.
"""

from __future__ import annotations

import json
import mmap
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from evoengineer.errors import EvoEngineerError
from evoengineer.judge.correctness import Expected, Mismatch, Yardstick, compare
from evoengineer.judge.reference.sums import Sums
from evoengineer.lifetime import belong_to_parent
from evoengineer.problem.live import Live, open_live
from evoengineer.problem.model import Case, Distribution

_ALIGNMENT = 256
# PyTorch's own numbers of its types, which the runner's interface uses, too.
DTYPES = {
    torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3, torch.int64: 4, torch.float16: 5,
    torch.float32: 6, torch.float64: 7, torch.bool: 11, torch.bfloat16: 15,
}  # fmt: skip
# A case with fewer outputs than this is measured on more draws than its own, as far as their inputs allow.
_ENOUGH_OUTPUTS, _MOST_DRAWS, _MOST_INPUTS = 1024, 64, 1 << 22
_BY_NUMBER = {number: dtype for dtype, number in DTYPES.items()}
# References are computed ahead, while the compiler runs, which everybody waits for.
_NICENESS = 5


@dataclass(frozen=True, slots=True)
class Draw:
    """Inputs of one call and what should come of them."""

    case: Case
    inputs: Mapping[str, Any]
    expected: tuple[Expected, ...]


class Memory:
    """Memory shared with the judge or the runner, by file descriptor."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._map: mmap.mmap | None = None

    @property
    def bytes(self) -> int:
        return os.fstat(self._fd).st_size

    def view(self, size: int) -> memoryview:
        """At least `size` bytes; grows the memory if need be."""
        have = self.bytes
        if have < size:
            os.ftruncate(self._fd, size)
        if self._map is None or len(self._map) < size:
            self._map = mmap.mmap(self._fd, max(have, size))
        return memoryview(self._map)


class ReferenceServer:
    """One method per command; each returns the answer."""

    def __init__(self, inputs: Memory, outputs: Memory) -> None:
        self._inputs, self._outputs = inputs, outputs
        self._live: Live | None = None
        self._draws: dict[int, Draw] = {}
        self._yardsticks: dict[tuple[int, Distribution], tuple[Yardstick | None, ...]] = {}

    @property
    def live(self) -> Live:
        if self._live is None:
            raise EvoEngineerError("no problem was loaded")
        return self._live

    def load(self, path: str, name: str) -> dict[str, Any]:
        """Make a problem the current one."""
        self._live, self._draws, self._yardsticks = open_live(Path(path), name), {}, {}
        return {}

    def prepare(self, draw: int, case: int, distribution: str, seed: int) -> dict[str, Any]:
        """Draw inputs and compute what should come out, in float64 and in PyTorch's own precision."""
        chosen, drawn = self.live.problem.cases[case], Distribution(distribution)
        inputs, results, order_epsilons = self._draw(chosen, drawn, seed)
        if (case, drawn) not in self._yardsticks:
            self._yardsticks[case, drawn] = self._measure(chosen, drawn, inputs, results)
        expected = tuple(
            Expected.make(exact, pytorch, drawn is Distribution.INTEGERS, yardstick, order_epsilons)
            for (exact, pytorch), yardstick in zip(results, self._yardsticks[case, drawn], strict=True)
        )
        self._draws[draw] = Draw(chosen, inputs, expected)
        return {}

    def _draw(
        self, case: Case, distribution: Distribution, seed: int
    ) -> tuple[dict[str, Any], list[tuple[torch.Tensor, torch.Tensor]], float | None]:
        """Inputs; for each output the result in float64 and in PyTorch's own precision; and what another order of
        summation may take."""
        inputs = self.live.inputs(case, distribution, seed)
        with Sums() as sums:
            pytorch = self.live.outputs(case, inputs, double=False)
        try:
            exact = self.live.outputs(case, inputs, double=True)
        except (RuntimeError, TypeError, NotImplementedError):  # an operation without a float64 version
            exact = pytorch
        return inputs, list(zip(exact, pytorch, strict=True)), sums.order_epsilons

    def _measure(
        self,
        case: Case,
        distribution: Distribution,
        inputs: Mapping[str, Any],
        results: list[tuple[torch.Tensor, torch.Tensor]],
    ) -> tuple[Yardstick | None, ...]:
        """From draws that are the same for every kernel; the given one only says how large they are."""
        fewest = min((exact.numel() for exact, _ in results), default=_ENOUGH_OUTPUTS)
        elements = sum(tensor.numel() for value in inputs.values() for tensor in _tensors_in(value))
        count = min(-(-_ENOUGH_OUTPUTS // max(fewest, 1)), _MOST_DRAWS, _MOST_INPUTS // max(elements, 1))
        if fewest >= _ENOUGH_OUTPUTS or count < 2:
            return (None,) * len(results)
        drawn = [self._draw(case, distribution, seed)[1] for seed in range(count)]
        return tuple(
            Yardstick.of([each[number] for each in drawn]) if results[number][1].is_floating_point() else None
            for number in range(len(results))
        )

    def stage(self, draw: int) -> dict[str, Any]:
        """Write a draw's inputs to the shared memory; the answer has the runner's lines for them."""
        lines: list[str] = []
        tensors: list[tuple[int, torch.Tensor]] = []
        end = 0
        for value in self._draws[draw].inputs.values():
            end = _describe(value, lines, tensors, end)
        view = self._inputs.view(max(end, 1))
        for offset, flat in tensors:
            data = flat.view(torch.uint8).numpy()
            view[offset : offset + data.nbytes] = data.data
        outputs = sum(
            _padded(_flat(e.pytorch).numel() * e.pytorch.element_size()) for e in self._draws[draw].expected
        )
        # Room for wrong answers, too: a candidate may return more or wider elements than it should.
        self._outputs.view(4 * outputs + end + (1 << 20))
        places = [(offset, flat.numel() * flat.element_size()) for offset, flat in tensors]
        return {"lines": lines, "count": len(self._draws[draw].inputs), "tensors": places}

    def check(self, draw: int, tensors: list[dict[str, Any]], inputs: list[list[int]]) -> dict[str, Any]:
        """Compare results and inputs, as they were put into the shared memory, with what they should be."""
        known = self._draws[draw]
        mismatch = self._compare_outputs(known, tensors)
        return {
            "mismatch": mismatch.to_json() if mismatch else None,
            "changed_inputs": self._changed_inputs(known, inputs),
        }

    def drop(self, draw: int) -> dict[str, Any]:
        self._draws.pop(draw, None)
        return {}

    def _compare_outputs(self, known: Draw, tensors: list[dict[str, Any]]) -> Mismatch | None:
        if len(tensors) != len(known.expected):
            return Mismatch(
                "count", f"forward returned {len(tensors)} tensors, expected {len(known.expected)}"
            )
        for number, (given, expected) in enumerate(zip(tensors, known.expected, strict=True)):
            if given["device"] != "cuda":
                return Mismatch("device", f"output {number} lies on the CPU, expected on the GPU", number)
            if given["dtype"] not in _BY_NUMBER:
                return Mismatch(
                    "dtype", f"output {number} has a dtype that the reference does not have", number
                )
            actual = self._tensor(given)
            if actual is None:
                return Mismatch("shape", f"output {number} reaches beyond its own memory", number)
            found = compare(number, expected, actual, self.live.problem.tolerance)
            if found:
                return found
        return None

    def _tensor(self, given: dict[str, Any]) -> torch.Tensor | None:
        """What the runner says it returned. The candidate shares its process, so the figures may be invented."""
        dtype, sizes, strides = _BY_NUMBER[given["dtype"]], given["sizes"], given["strides"]
        if 0 in sizes:
            return torch.empty(sizes, dtype=dtype)
        span = 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
        end = given["offset"] + given["bytes"]
        if (
            min([1, *sizes, *strides]) < 0
            or span * dtype.itemsize != given["bytes"]
            or end > self._outputs.bytes
        ):
            return None
        flat = torch.frombuffer(self._outputs.view(end), dtype=dtype, count=span, offset=given["offset"])
        return torch.as_strided(flat, sizes, strides)

    def _changed_inputs(self, known: Draw, places: list[list[int]]) -> list[str]:
        """Names of the tensors among the arguments whose memory is not what it was before the call."""
        changed = []
        flats: list[tuple[str, torch.Tensor]] = []
        for name, value in known.inputs.items():
            flats += [(name, _flat(tensor)) for tensor in _tensors_in(value)]
        if len(places) != len(flats):
            return ["all"]
        for (name, flat), (offset, size) in zip(flats, places, strict=True):
            original = flat.view(torch.uint8).numpy()
            if offset + size > self._outputs.bytes:
                return ["all"]
            now = self._outputs.view(offset + size)[offset : offset + size]
            if not np.array_equal(original, np.frombuffer(now, np.uint8)):
                changed.append(name)
        return changed


def _describe(value: Any, lines: list[str], tensors: list[tuple[int, torch.Tensor]], end: int) -> int:
    """Append the runner's lines for a value; returns the next free offset."""
    if isinstance(value, torch.Tensor):
        flat = _flat(value)
        size = flat.numel() * flat.element_size()
        words = [DTYPES[value.dtype], value.dim(), *value.shape, *value.stride(), end, size]
        lines.append("tensor " + " ".join(str(word) for word in words))
        tensors.append((end, flat))
        return end + _padded(size)
    if isinstance(value, bool):
        lines.append(f"bool {int(value)}")
    elif isinstance(value, int):
        lines.append(f"int {value}")
    elif isinstance(value, float):
        lines.append(f"float {value.hex() if value - value == 0 else value}")
    elif isinstance(value, str):
        lines.append(f"string x{value.encode().hex()}")
    elif value is None:
        lines.append("none")
    elif isinstance(value, (list, tuple)):
        lines.append(f"{'list' if isinstance(value, list) else 'tuple'} {len(value)}")
        for each in value:
            end = _describe(each, lines, tensors, end)
    else:
        raise EvoEngineerError(f"make_inputs gives a {type(value).__name__}, which a kernel cannot take")
    return end


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    """All elements from the first to the last that the tensor reaches, as they lie in memory."""
    if tensor.numel() == 0:
        return tensor.reshape(-1)
    span = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return torch.as_strided(tensor, (span,), (1,))


def _tensors_in(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for each in value for tensor in _tensors_in(each)]
    return []


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def main() -> int:
    """Serve commands until standard input ends."""
    belong_to_parent()
    os.nice(_NICENESS)
    inputs, outputs, threads = (int(word) for word in sys.argv[1:4])
    torch.set_num_threads(threads)
    server = ReferenceServer(Memory(inputs), Memory(outputs))
    # What a problem's own code prints must not get between our answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    commands = {name: getattr(server, name) for name in ("load", "prepare", "stage", "check", "drop")}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = commands[request.pop("command")](**request)
        except EvoEngineerError as error:
            answer = {"error": str(error)}
        except Exception as error:  # a problem's own code runs here; the judge reports what it raised
            answer = {"error": f"{type(error).__name__}: {error}"}
        try:
            print(json.dumps(answer), file=answers, flush=True)
        except BrokenPipeError:  # nobody wants to know any longer
            os._exit(0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
