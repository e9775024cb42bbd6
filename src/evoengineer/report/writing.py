"""Writing a report: report.html (one file, no network), report.md, report.json, and a CSV for each kind of row."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

from evoengineer.files import write_whole
from evoengineer.report.details import Detail
from evoengineer.report.figures import figures, heat_map
from evoengineer.report.highlight import highlighted, highlighted_difference, hot_lines
from evoengineer.report.numbers import Numbers
from evoengineer.report.tables import conclusions, tables, times
from evoengineer.report.text import table as text_table

FOLDER = Path(__file__).parent
ASSETS = FOLDER / "assets"
ECHARTS = ASSETS / "vendor" / "echarts" / "echarts.common.min.js"


@dataclass(frozen=True, slots=True)
class Report:
    """What is written: numbers and the best kernel of each problem."""

    title: str
    numbers: Numbers
    details: Sequence[Detail]


def write_report(report: Report, folder: Path) -> list[Path]:
    """All files of the report, the HTML first."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = report.numbers
    texts = {
        "report.html": html(report),
        "report.md": markdown(report),
        "report.json": json.dumps(as_json(report), indent=1),
        "methods.csv": _csv(numbers.groups),
        "families.csv": _csv(numbers.families),
        "problems.csv": _csv(numbers.cells),
        "runs.csv": _csv(numbers.runs),
        "comparisons.csv": _csv(numbers.comparisons),
    }
    written = []
    for name, text in texts.items():
        write_whole(folder / name, text.encode())
        written.append(folder / name)
    return written


# -- formats -----------------------------------------------------------------------------------------------------


def as_json(report: Report) -> dict[str, Any]:
    """Every number, by the names of `numbers.py`."""
    numbers = report.numbers
    data = {each.name: getattr(numbers, each.name) for each in fields(Numbers) if each.name != "pytorch"}
    return {
        "title": report.title,
        "conclusions": conclusions(numbers),
        **{name: [asdict(row) for row in rows] for name, rows in data.items()},
        "pytorch": [
            {"problem": problem, "device": device, **asdict(time)}
            for (problem, device), time in numbers.pytorch.items()
        ],
    }


def markdown(report: Report) -> str:
    """Tables and conclusions; cells cannot break out of their table."""
    parts = [f"# {_cell(report.title)}", *(f"- {_cell(each)}" for each in conclusions(report.numbers))]
    for each in tables(report.numbers):
        rows = [tuple(_cell(cell) for cell in row) for row in (each.head, *each.rows)]
        figure_columns = frozenset(range(each.left, len(each.head)))
        parts += [
            "",
            f"## {each.title}",
            "",
            text_table(rows, right=figure_columns, markdown=True),
            "",
            each.note,
        ]
    return "\n".join(parts).rstrip() + "\n"


def html(report: Report) -> str:
    """One page with its style, scripts and data inside; a policy in its head lets nothing else run or load."""
    numbers = report.numbers
    style = (ASSETS / "style.css").read_text(encoding="utf-8")
    scripts = [ECHARTS.read_text(encoding="utf-8"), (ASSETS / "charts.js").read_text(encoding="utf-8")]
    hashes = " ".join(_hash(each) for each in scripts)
    policy = f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {hashes}"
    columns, heat_rows = heat_map(numbers)
    page: str = environment().get_template("report.html").render(
        title=report.title,
        policy=policy,
        style=_safe(style),
        scripts=[_safe(each) for each in scripts],
        conclusions=conclusions(numbers),
        tables=tables(numbers),
        figures=[(caption, json_text(data)) for caption, data in figures(numbers)],
        heat_columns=columns,
        heat_rows=heat_rows,
        details=[_shown(each) for each in report.details],
    )  # fmt: skip
    return page


@cache
def environment() -> Any:
    """Templates of the report, which escape everything that does not say it is HTML."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(FOLDER / "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip


def json_text(data: Any) -> Any:
    """JSON that may stand in a script element."""
    from markupsafe import Markup

    text = json.dumps(data).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Markup(text)


def _shown(detail: Detail) -> dict[str, Any]:
    best, baseline = detail.best, detail.baseline
    timing = detail.verdict.timing if detail.verdict else None
    hot = hot_lines(timing.launches) if timing else {}
    old = baseline.source if baseline else ""
    return {
        "run": detail.run,
        "best": best,
        "speedup": times(detail.run.best_speedup),
        "profile": timing.profile if timing else "",
        "source": _markup(highlighted(best.source, hot)),
        "difference": _markup(highlighted_difference(old, best.source, "baseline.cu", "best.cu")),
        "lineage": detail.lineage,
    }


def _markup(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)


def _safe(text: str) -> Any:
    """Our own style and scripts, as they are: they must not end their element."""
    if "</script" in text.lower() or "</style" in text.lower():
        raise ValueError("an asset would end its element")
    return _markup(text)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _cell(text: str) -> str:
    flat = " ".join(text.split())
    for character in ("\\", "|", "`", "<", "[", "*", "_"):
        flat = flat.replace(character, "\\" + character)
    return flat


def _csv(rows: Iterable[Any]) -> str:
    import io

    rows = [_flat(asdict(row)) for row in rows]
    out = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _spreadsheet(value) for name, value in row.items()} for row in rows)
    return out.getvalue()


def _flat(row: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Nested records as columns `mean_speedup.low`."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            flat |= _flat({str(key): each for key, each in value.items()}, f"{before}{name}.")
        elif isinstance(value, (list, tuple)):
            flat[before + name] = " ".join(map(str, value))
        elif not is_dataclass(value):
            flat[before + name] = value
    return flat


def _spreadsheet(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula is quoted."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
