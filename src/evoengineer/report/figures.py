"""The charts of a report, as data that assets/charts.js draws."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from evoengineer.report.numbers import Group, Numbers

_EDGES = (0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)


def figures(numbers: Numbers) -> list[tuple[str, dict[str, Any]]]:
    """(caption, data) of each chart."""
    label = _labels(numbers)
    made: list[tuple[str, dict[str, Any]]] = [
        (
            "Validity against speedup: a dot per method and model",
            {
                "kind": "scatter", "x": "functional validity", "y": "mean speedup", "size": 16,
                "xAxis": {"min": 0, "max": 1},
                "series": [
                    {"name": label(g), "points": [[g.functional, g.mean_speedup.value, label(g)]]}
                    for g in numbers.groups if g.functional is not None and g.mean_speedup is not None
                ],
            },
        ),
        (
            "Distribution of speedups over problems",
            {
                "kind": "bars", "x": "speedup", "y": "problems", "bins": _bin_names(),
                "yAxis": {"minInterval": 1, "scale": False},
                "series": [{"name": label(g), "values": _histogram(numbers, g)} for g in numbers.groups],
            },
        ),
        (
            "Best so far by trial: median over problems, quartiles as a band",
            {
                "kind": "lines", "x": "trial", "y": "speedup",
                "series": [
                    {"name": label(c), "values": c.middle, "low": c.low, "high": c.high} for c in numbers.curves
                ],
            },
        ),
    ]  # fmt: skip
    return made


def heat_map(numbers: Numbers) -> tuple[list[str], list[tuple[str, list[tuple[str, int]]]]]:
    """Columns (methods), and per family the geometric mean speedup with a class of colour from 0 to 5."""
    label = _labels(numbers)
    columns = list(dict.fromkeys(label(group) for group in numbers.groups))
    families = sorted({group.family for group in numbers.families})
    values = {(g.family, label(g)): g.geometric_mean_speedup for g in numbers.families}
    rows = []
    for family in families:
        cells = []
        for column in columns:
            found = values.get((family, column))
            cells.append(("-", 1) if found is None else (f"{found.value:.2f}x", _warmth(found.value)))
        rows.append((family, cells))
    return columns, rows


def _labels(numbers: Numbers) -> Any:
    """Names of groups, as short as they can be and still differ."""
    models = len({group.model for group in numbers.groups}) > 1
    devices = len({group.device for group in numbers.groups}) > 1

    def label(group: Group) -> str:
        return " · ".join(
            [group.method, *([group.model] if models else []), *([group.device] if devices else [])]
        )

    return label


def _bin_names() -> list[str]:
    inner = [f"{low:g}–{high:g}" for low, high in pairwise(_EDGES)]
    return [f"under {_EDGES[0]:g}", *inner, f"over {_EDGES[-1]:g}"]


def _histogram(numbers: Numbers, group: Group) -> list[int]:
    counts = [0] * (len(_EDGES) + 1)
    for cell in numbers.cells:
        if cell.speedup is not None and (cell.device, cell.method, cell.model) == (
            group.device, group.method, group.model,
        ):  # fmt: skip
            counts[sum(cell.speedup >= edge for edge in _EDGES)] += 1
    return counts


def _warmth(speedup: float) -> int:
    """0: slower; 1: as fast; 5: four times as fast and more."""
    if speedup < 0.995:
        return 0
    return min(5, 1 + math.ceil(2 * math.log2(max(speedup, 1.0)) - 0.05))
