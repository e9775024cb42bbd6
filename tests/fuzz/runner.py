"""The differential fuzzer: random kernels on the simulated GPU against the C++ emulation.

    python -m tests.fuzz.runner --kernels 1000 --seed 1      # a long run, with a summary
    python -m tests.fuzz.runner --file failures/k123.cu      # a saved reproducer again
    python -m tests.fuzz.runner --kernels 200 --emulate-only --coverage

Every kernel runs in the optimised translation and in the "everything varying" one, with one thread
and with two; all must print what the emulation prints, bit for bit. A kernel that does not is cut
down and saved. Kernel seeds are consecutive: seed S alone is `--seed S --kernels 1`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.fuzz.coverage import opcode_counts, report
from tests.fuzz.execution import (
    CHECKED,
    MODES,
    BuildError,
    Mode,
    Outcome,
    build_emulation,
    build_ptx,
    build_simulated,  # fmt: skip
    run_emulation,
    run_simulated,
)
from tests.fuzz.generator import Kernel, kernels_from, make_program
from tests.fuzz.reduction import reduce_kernel

BATCH = 20
_PTXAS_CRASHED = "ptxas crashed on this code"


@dataclass(frozen=True)
class Difference:
    """One kernel that does not do on the simulated GPU what the emulation does."""

    kernel: str
    mode: Mode
    expected: str
    got: str  # the line printed, or how the run failed

    def __str__(self) -> str:
        return f"{self.kernel} [{self.mode.name}]\n  emulation {self.expected}\n  simulated {self.got}"


def compare(source: Path, modes: Sequence[Mode]) -> list[Difference]:
    """Builds a program both ways and runs it in each mode."""
    emulation = run_emulation(build_emulation(source))
    if emulation.exit_code != 0:
        raise BuildError(f"{source}: the emulation fails: {emulation.log}")
    program = build_simulated(source)
    differences: list[Difference] = []
    for mode in modes:
        differences += compare_mode(program, emulation, mode)
        if any(map(_ptxas_crashed, differences)):
            break  # it does so in every mode
    return differences


def compare_mode(program: Path, emulation: Outcome, mode: Mode) -> list[Difference]:
    outcome = run_simulated(program, mode)
    if _PTXAS_CRASHED in outcome.log:  # on the program, which the caller takes apart
        return [
            Difference(
                "the program", mode, "exit code 0", f"exit code {outcome.exit_code}: {outcome.log.strip()}"
            )
        ]
    differences = []
    for number, (name, expected) in enumerate(emulation.lines.items()):
        one = outcome
        if name not in outcome.lines:  # an earlier kernel ended the program: run this one by itself
            one = run_simulated(program, mode, "only", str(number))
        got = one.lines.get(name, f"exit code {one.exit_code}: {one.log.strip()}")
        if got != expected:
            differences.append(Difference(name, mode, expected, got))
    if not differences and outcome.exit_code != 0:
        differences.append(
            Difference("the program", mode, "exit code 0", f"{outcome.exit_code}: {outcome.log}")
        )
    return differences


def _ptxas_crashed(difference: Difference) -> bool:
    return _PTXAS_CRASHED in difference.got


def first_difference(source: Path, mode: Mode) -> str:
    """The first output element that differs, for a program of one kernel."""
    expected = run_emulation(source.with_suffix(".emulation"), "dump", "0").lines
    got = run_simulated(source.with_suffix(".simulated"), mode, "dump", "0").lines
    wrong = [
        f"{name}: {value} expected, {got.get(name)} got"
        for name, value in expected.items()
        if got.get(name) != value
    ]
    return f"{len(wrong)} of {len(expected)} output elements differ; first: {'; '.join(wrong[:3])}"


def save_reproducer(kernel: Kernel, difference: Difference, directory: Path) -> Path:
    """Cuts the kernel down and writes a program that still shows the difference."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{kernel.name}.cu"
    failed = difference.got.startswith("exit code")

    def still_fails(candidate: Kernel) -> bool:
        path.write_text(make_program([candidate]))
        try:
            found = compare(path, [difference.mode])
        except BuildError:
            return False
        # Reduce towards the same kind of failure: wrong values, or a run that ends early.
        return bool(found) and found[0].got.startswith("exit code") == failed

    smallest = reduce_kernel(kernel, still_fails)
    path.write_text(make_program([smallest]))
    again = compare(path, [difference.mode])
    detail = (
        first_difference(path, difference.mode) if again and not failed else str(again[0] if again else "")
    )
    notes = "".join(f"// {line}\n" for line in (str(difference) + "\n" + detail).splitlines())
    path.write_text(notes + make_program([smallest]))
    return path


def fuzz(
    seed: int, count: int, modes: Sequence[Mode], scratch: Path
) -> tuple[list[Kernel], list[Difference]]:
    """One batch of kernels in one program; in two, if NVIDIA's ptxas cannot digest it. A kernel that makes it crash all
    by itself is left out: there is nothing to compare."""
    kernels, differences = _one_program(seed, count, modes, scratch)
    if not any(map(_ptxas_crashed, differences)):
        return kernels, differences
    if count == 1:
        print(f"{kernels[0].name}: ptxas crashes, left out", flush=True)
        return [], []
    halves = ((seed, count // 2), (seed + count // 2, count - count // 2))
    parts = [fuzz(first, some, modes, scratch) for first, some in halves]
    return [each for part in parts for each in part[0]], [each for part in parts for each in part[1]]


def _one_program(
    seed: int, count: int, modes: Sequence[Mode], scratch: Path
) -> tuple[list[Kernel], list[Difference]]:
    kernels = kernels_from(seed, count)
    source = scratch / f"batch{seed}.cu"
    source.write_text(make_program(kernels))
    differences = compare(source, modes)
    for suffix in (".emulation", ".simulated"):
        source.with_suffix(suffix).unlink(missing_ok=True)
    return kernels, differences


def emulate_only(seed: int, count: int, scratch: Path, coverage: Counter[str] | None) -> None:
    """Checks the generator itself: both compilers take the program and the emulation runs it."""
    source = scratch / f"batch{seed}.cu"
    source.write_text(make_program(kernels_from(seed, count)))
    outcome = run_emulation(build_emulation(source))
    if outcome.exit_code != 0 or len(outcome.lines) != count:
        raise BuildError(f"seed {seed}: the emulation fails: {outcome.log}")
    if coverage is not None:
        coverage.update(opcode_counts(build_ptx(source).read_text()))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the first kernel")
    parser.add_argument("--kernels", type=int, default=100)
    parser.add_argument("--file", type=Path, help="compare this program instead of generating some")
    parser.add_argument("--save", type=Path, default=Path("fuzz-failures"), help="where reproducers go")
    parser.add_argument(
        "--no-reduce", action="store_true", help="report differences, but do not cut them down"
    )
    parser.add_argument("--checked", action="store_true", help="also run with every check on: none may fire")
    parser.add_argument("--emulate-only", action="store_true", help="only check the generator")
    parser.add_argument("--coverage", action="store_true", help="with --emulate-only: count PTX opcodes")
    options = parser.parse_args()
    modes = (*MODES, CHECKED) if options.checked else MODES
    with tempfile.TemporaryDirectory(prefix="fuzz-") as directory:
        scratch = Path(directory)
        if options.file:
            copy = scratch / options.file.name
            copy.write_text(options.file.read_text())
            found = compare(copy, modes)
            print("\n".join(map(str, found)) or "no difference")
            return 1 if found else 0
        return _long_run(options, modes, scratch)


def _long_run(options: argparse.Namespace, modes: Sequence[Mode], scratch: Path) -> int:
    start = time.monotonic()
    failures: dict[str, Difference] = {}
    compared = 0
    coverage: Counter[str] | None = Counter() if options.coverage else None
    for first in range(options.seed, options.seed + options.kernels, BATCH):
        count = min(BATCH, options.seed + options.kernels - first)
        if options.emulate_only:
            emulate_only(first, count, scratch, coverage)
            continue
        kernels, differences = fuzz(first, count, modes, scratch)
        by_name = {kernel.name: kernel for kernel in kernels}
        compared += len(kernels)
        for difference in differences:
            print(difference, flush=True)
            if difference.kernel not in failures and difference.kernel in by_name and not options.no_reduce:
                kernel = replace(by_name[difference.kernel])
                print(f"  saved {save_reproducer(kernel, difference, options.save)}", flush=True)
            failures.setdefault(difference.kernel, difference)
        done = first + count - options.seed
        print(
            f"{done} kernels, {len(failures)} differ, {time.monotonic() - start:.0f} s",
            file=sys.stderr,
            flush=True,
        )
    if coverage is not None:
        print(report(coverage))
    ways = (
        "the emulation" if options.emulate_only else f"{len(modes)} modes: {'; '.join(m.name for m in modes)}"
    )
    left_out = 0 if options.emulate_only else options.kernels - compared
    print(f"{options.kernels} kernels from seed {options.seed} in {ways}: {len(failures)} differ"
          f"{f', {left_out} make ptxas crash' if left_out else ''} ({time.monotonic() - start:.0f} s)")  # fmt: skip
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
