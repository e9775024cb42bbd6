"""The validation chains of simulated time: published measurements, and our programs for them.

    from benchmarks.chains import load
    for chain in load(): ...

A chain is one operation on one card in several variants, each with the time that somebody published.
`chains.toml` is the record; this module reads it, checks it, and turns published figures into microseconds.
It neither compiles nor runs anything.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
MANIFEST = FOLDER / "chains.toml"

USES = ("fit", "test")
CACHES = ("warm", "cold")
TIMINGS = ("kernel", "event", "loop")
# What a figure says of `work`, the bytes or operations of one launch: rates count them per second.
DURATIONS_US = {"us": 1.0, "ms": 1e3, "s": 1e6}
RATES_PER_SECOND = {"GB/s": 1e9, "GiB/s": 2**30, "TB/s": 1e12, "GFLOP/s": 1e9, "TFLOP/s": 1e12}


def measured_us(published: float, unit: str, work: float | None = None) -> float:
    """A published figure as the microseconds of one launch."""
    if published <= 0:
        raise ValueError(f"published = {published}: a measurement is positive")
    if unit in DURATIONS_US:
        return published * DURATIONS_US[unit]
    if unit not in RATES_PER_SECOND:
        known = ", ".join((*DURATIONS_US, *RATES_PER_SECOND))
        raise ValueError(f'unit = "{unit}" is unknown; use one of {known}')
    if not work or work <= 0:
        raise ValueError(f'unit = "{unit}" needs work, the bytes or operations of one launch; got {work}')
    return work / (published * RATES_PER_SECOND[unit]) * 1e6


@dataclass(frozen=True)
class Variant:
    """One kernel (or short sequence of kernels) of a chain, and how long it took where it was measured."""

    name: str
    args: tuple[str, ...]  # for the chain's program
    published: float
    unit: str
    measured_us: float


@dataclass(frozen=True)
class Chain:
    """Variants of one operation on one card, from one source, measured in one way."""

    name: str
    operation: str
    file: Path
    card: str
    source: str
    use: str
    timing: str
    caches: str
    nvcc_args: tuple[str, ...]
    clock_khz: int | None  # at which the multiprocessors ran, where the source says so
    note: str
    variants: tuple[Variant, ...]

    @property
    def device(self) -> str:
        return f"sim:{self.card}" + (f"@{self.clock_khz // 1000}" if self.clock_khz else "")


@dataclass(frozen=True)
class LeftOut:
    """An entry of the published measurements that no chain covers, and why."""

    source: str
    reason: str


def _variant(table: dict[str, Any], chain: dict[str, Any]) -> Variant:
    unknown = table.keys() - {"name", "args", "published", "unit", "work"}
    if unknown:
        raise ValueError(
            f"chain {chain['name']}, variant {table.get('name')}: unknown keys {sorted(unknown)}"
        )
    unit, work = table.get("unit", chain.get("unit", "us")), table.get("work", chain.get("work"))
    arguments = table.get("args", [table["name"], *chain.get("sizes", [])])
    return Variant(
        name=table["name"],
        args=tuple(str(word) for word in arguments),
        published=table["published"],
        unit=unit,
        measured_us=measured_us(table["published"], unit, work),
    )


def _chain(table: dict[str, Any]) -> Chain:
    required = {"name", "operation", "file", "card", "source", "use", "timing", "caches", "note", "variant"}
    missing, unknown = (
        required - table.keys(),
        table.keys() - required - {"nvcc_args", "sizes", "unit", "work", "clock_khz"},
    )
    if missing or unknown:
        raise ValueError(
            f"chain {table.get('name')}: missing {sorted(missing)}, unknown keys {sorted(unknown)}"
        )
    for key, allowed in (("use", USES), ("timing", TIMINGS), ("caches", CACHES)):
        if table[key] not in allowed:
            raise ValueError(
                f'chain {table["name"]}: {key} = "{table[key]}"; use one of {", ".join(allowed)}'
            )
    return Chain(
        name=table["name"],
        operation=table["operation"],
        file=FOLDER / table["file"],
        card=table["card"],
        source=table["source"],
        use=table["use"],
        timing=table["timing"],
        caches=table["caches"],
        nvcc_args=tuple(table.get("nvcc_args", ())),
        clock_khz=table.get("clock_khz"),
        note=table["note"],
        variants=tuple(_variant(variant, table) for variant in table["variant"]),
    )


def load(path: Path = MANIFEST) -> tuple[Chain, ...]:
    """All chains, in the order of the manifest."""
    return tuple(_chain(table) for table in tomllib.loads(path.read_text())["chain"])


def left_out(path: Path = MANIFEST) -> tuple[LeftOut, ...]:
    """What was published, but is not among the chains."""
    return tuple(LeftOut(**table) for table in tomllib.loads(path.read_text()).get("left_out", []))
