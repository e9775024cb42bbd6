"""`python -m benchmarks.simulated_time`: predicted against published times, chain by chain.

Compiles the programs of `benchmarks/chains`, runs every variant on the simulated card that it was measured on,
and compares. Writes the table into docs/simulated-time.md and the plot beside it (`--write`); prints it anyway.
Only counted blocks run, so that a 4096-cubed product takes seconds.

    python -m benchmarks.simulated_time                    all chains, about ten minutes on two cores
    python -m benchmarks.simulated_time reduce transpose   chains whose name contains one of these
    python -m benchmarks.simulated_time --keep build/times what was predicted by the same code is not predicted again
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.chains import Chain, Variant, load
from benchmarks.simulated_time_plot import scatter
from evoengineer.card.name import DeviceName
from evoengineer.kernel.program import Program, compile_program
from evoengineer.sim.options import DeviceOptions, Limits
from evoengineer.toolchain.compilers import find_toolchain

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/simulated-time.md"
PLOT = PAGE.with_name("simulated-time.svg")
BEGIN, END = "<!-- benchmarks/simulated_time.py -->", "<!-- end -->"
LOOP_LAUNCHES = 5
APART = 1.1  # pairs that differ by less are near ties
WRONG_ORDER = 1.5  # pairs that differ by more must be predicted in the right order


@dataclass(frozen=True)
class Point:
    """One variant: measured by its publisher, predicted by us."""

    variant: Variant
    predicted_us: float

    @property
    def ratio(self) -> float:
        return self.predicted_us / self.variant.measured_us

    @property
    def error(self) -> float:
        """How far off, whichever way: 0.3 is 30%."""
        return max(self.ratio, 1 / self.ratio) - 1


@dataclass(frozen=True)
class Result:
    chain: Chain
    points: tuple[Point, ...]

    @property
    def correlation(self) -> float:
        return spearman([p.variant.measured_us for p in self.points], [p.predicted_us for p in self.points])

    @property
    def median_error(self) -> float:
        return statistics.median(p.error for p in self.points)

    @property
    def wrong_pairs(self) -> list[tuple[Point, Point]]:
        """Pairs whose measured times differ by more than 1.5 and whose predictions are the other way round."""
        return [(s, f) for s, f in self.pairs(WRONG_ORDER) if s.predicted_us <= f.predicted_us]

    def pairs(self, factor: float) -> list[tuple[Point, Point]]:
        """(slow, fast) of all pairs whose measured times differ by more than that."""
        return [
            (slow, fast)
            for slow in self.points
            for fast in self.points
            if slow.variant.measured_us > factor * fast.variant.measured_us
        ]


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Rank correlation; equal values share their mean rank. 0 if nothing varies: there is no order in that."""
    a, b = _ranks(first), _ranks(second)
    mean = (len(a) - 1) / 2
    covariance = sum((x - mean) * (y - mean) for x, y in zip(a, b, strict=True))
    spread = math.sqrt(sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b))
    return covariance / spread if spread else 0.0


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(range(len(values)), key=lambda i: values[i])
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for i in order[start:end]:
            ranks[i] = (start + end - 1) / 2
        start = end
    return ranks


# -- running ---------------------------------------------------------------------------------------------


def fingerprint(chain: Chain) -> str:
    """Of all that a chain's predictions depend on: another simulator, card, program or manifest is another run."""
    found = hashlib.sha256(repr(chain).encode())
    sources = [
        path
        for part in ("sim", "card", "toolchain")
        for path in (ROOT / "src/evoengineer" / part).rglob("*.*")
    ]
    for path in sorted(
        p for p in [*sources, chain.file, chain.file.with_name("common.h")] if p.suffix != ".pyc"
    ):
        if path.is_file():
            found.update(path.name.encode() + path.read_bytes())
    return found.hexdigest()


def kept_result(chain: Chain, keep: Path, scratch: Path) -> Result:
    """As it was predicted before by the same code, or predicted now and kept."""
    place, mark = keep / f"{chain.name}.json", fingerprint(chain)
    if place.is_file():
        kept = json.loads(place.read_text())
        if kept["fingerprint"] == mark:
            return Result(chain, tuple(Point(v, kept["predicted_us"][v.name]) for v in chain.variants))
    result = run_chain(chain, scratch)
    keep.mkdir(parents=True, exist_ok=True)
    predicted = {point.variant.name: point.predicted_us for point in result.points}
    place.write_text(json.dumps({"fingerprint": mark, "predicted_us": predicted}, indent=1))
    return result


def run_chain(chain: Chain, scratch: Path) -> Result:
    from evoengineer.sim.cudart.library import cudart_directory

    card = DeviceName.parse(chain.device).profile
    toolchain = find_toolchain()
    executable = scratch / chain.name
    program = Program((chain.file,), chain.nvcc_args)
    compile_program(program, executable, toolchain, card.sm, cudart_directory(toolchain.version[0]))
    points = []
    for variant in chain.variants:
        predicted = _predict(chain, variant, executable, scratch)
        points.append(Point(variant, predicted))
        print(
            f"  {variant.name:28} {variant.measured_us:12.1f} {predicted:12.1f}", file=sys.stderr, flush=True
        )
    return Result(chain, tuple(points))


def _predict(chain: Chain, variant: Variant, executable: Path, scratch: Path) -> float:
    """Microseconds of one launch, containing what the published figure contains."""
    from evoengineer.sim.session import run_program

    profiles, output = scratch / "profiles.json", scratch / "output.txt"
    profiles.unlink(missing_ok=True)
    options = DeviceOptions(
        device=DeviceName.parse(chain.device),
        limits=Limits(max_seconds=0.0),
        sampled_only=True,
        profile_file=str(profiles),
    )
    words = [str(executable), *variant.args]
    words += ["--cold"] if chain.caches == "cold" else []
    words += ["--launches", str(LOOP_LAUNCHES)] if chain.timing == "loop" else []
    with output.open("w") as file:
        code = run_program(words, options, stdout=file.fileno())
    if code:
        raise SystemExit(f"{chain.name}, {variant.name}: the program ended with {code}\n{output.read_text()}")
    if chain.timing == "kernel":  # the timed launch repeats the first one
        launches = json.loads(profiles.read_text())
        return float(sum(launch["time_ns"] for launch in launches[len(launches) // 2 :])) / 1e3
    return float(output.read_text().split("\t")[1])


# -- reporting -------------------------------------------------------------------------------------------


def summary(results: Sequence[Result], use: str) -> str:
    chosen = [r for r in results if r.chain.use == use]
    if not chosen:
        return f"{use}: no chain was run"
    points = [p for r in chosen for p in r.points]
    pairs = sum(len(r.wrong_pairs) for r in chosen)
    correlation = statistics.mean(r.correlation for r in chosen)
    error = statistics.median(p.error for p in points)
    within = sum(p.error <= 0.3 for p in points) / len(points)
    apart = [pair for r in chosen for pair in r.pairs(APART)]
    ordered = sum(slow.predicted_us > fast.predicted_us for slow, fast in apart) / max(len(apart), 1)
    return (
        f"{len(chosen)} chains, {len(points)} variants: mean rank correlation {correlation:.3f}, median error "
        f"{100 * error:.0f}%, {100 * within:.0f}% of variants within 30%, {100 * ordered:.0f}% of the {len(apart)} "
        f"pairs that differ by over 10% in the right order, {pairs} pairs over 1.5x in the wrong order"
    )


def table(results: Sequence[Result]) -> str:
    rows = [
        "| chain | card | use | variants | rank correlation | median error | wrong pairs |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    for r in sorted(results, key=lambda r: (r.chain.use, r.chain.name)):
        use = {"fit": "fit", "test": "held out"}[r.chain.use]
        rows.append(
            f"| {r.chain.name} | {r.chain.card} | {use} | {len(r.points)} | {r.correlation:.2f} "
            f"| {100 * r.median_error:.0f}% | {len(r.wrong_pairs)} |"
        )
    return "\n".join(rows)


def details(results: Sequence[Result]) -> str:
    rows = ["| chain | variant | published µs | predicted µs | ratio |", "|---|---|---:|---:|---:|"]
    for r in results:
        for p in r.points:
            rows.append(
                f"| {r.chain.name} | {p.variant.name} | {_figure(p.variant.measured_us)} "
                f"| {_figure(p.predicted_us)} | {p.ratio:.2f} |"
            )
    return "\n".join(rows)


def _figure(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def page_part(results: Sequence[Result]) -> str:
    return "\n\n".join([
        f"Held out: {summary(results, 'test')}.",
        f"Fitted on: {summary(results, 'fit')}.",
        table(results),
        "![predicted against published times](simulated-time.svg)",
        "<details><summary>All variants</summary>\n\n" + details(results) + "\n\n</details>",
    ])  # fmt: skip


def write_page(results: Sequence[Result]) -> None:
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{page_part(results)}\n{END}{after}")
    points = [(p.variant.measured_us, p.predicted_us, r.chain.use) for r in results for p in r.points]
    PLOT.write_text(scatter(points))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.simulated_time", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="parts of chains' names (default: all chains)")
    parser.add_argument("--write", action="store_true", help="write the table and the plot into docs/")
    parser.add_argument(
        "--keep", type=Path, help="folder for predictions, so that a run may be done in parts"
    )
    given = parser.parse_args(arguments)
    chains = [c for c in load() if not given.names or any(name in c.name for name in given.names)]
    results = []
    with tempfile.TemporaryDirectory(prefix="evoengineer-") as scratch:
        for chain in chains:
            print(f"{chain.name} ({chain.card}, {chain.use})", file=sys.stderr)
            keep = given.keep
            results.append(
                kept_result(chain, keep, Path(scratch)) if keep else run_chain(chain, Path(scratch))
            )
    print(table(results))
    for use in ("test", "fit"):
        print(f"{use}: {summary(results, use)}")
    if given.write:
        write_page(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
