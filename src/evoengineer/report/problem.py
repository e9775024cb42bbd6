"""A problem for people and as JSON."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evoengineer.problem.catalog import Description
from evoengineer.problem.model import Tolerance


def title_in(path: Path) -> str:
    """The title of a problem's file, read without running it: that would import torch for a list."""
    doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return doc.partition("\n")[0]


def problem_text(description: Description) -> str:
    """Everything that a kernel's author wants to know."""
    problem = description.problem
    flops = description.flops()
    work = f"{description.moved_bytes() / 1e6:.1f} MB moved at least"
    return "\n".join([
        f"{problem.name}: {problem.title}\n",
        "Arguments of forward, bench case:",
        *(f"  {argument['name']}: {_value(argument)}" for argument in description.arguments),
        "Returns:",
        *(f"  {_value(output)}" for output in description.outputs),
        "\nReference:",
        *(f"  {line}" for line in problem.reference_source.rstrip().splitlines()),
        "\nCases:",
        *(f"  {case.kind}: {case.name}" for case in problem.cases),
        f"Inputs: {', '.join(problem.distributions)}",
        f"Tolerance: {_tolerance(problem.tolerance)}",
        f"Baseline: {problem.baseline or 'none (give one with --baseline)'}",
        f"Work of the bench case: {work}" + (f", about {flops / 1e9:.3g} GFLOP" if flops else ""),
    ])  # fmt: skip


def problem_json(description: Description) -> dict[str, Any]:
    """The same as data."""
    problem = description.problem
    return {
        "name": problem.name,
        "title": problem.title,
        "path": str(problem.path),
        "form": problem.form,
        "reference": problem.reference_source,
        "cases": [{"kind": str(case.kind), "sizes": dict(case.sizes)} for case in problem.cases],
        "distributions": [str(each) for each in problem.distributions],
        "tolerance": {
            "relative": dict(problem.tolerance.relative),
            "times_pytorch": problem.tolerance.times_pytorch,
        },
        "baseline": str(problem.baseline) if problem.baseline else None,
        "arguments": [dict(each) for each in description.arguments],
        "outputs": [dict(each) for each in description.outputs],
        "moved_bytes": description.moved_bytes(),
        "flops": description.flops(),
    }


def _value(data: Mapping[str, Any]) -> str:
    if data["kind"] == "tensor":
        return f"{data['dtype']} {data['shape']} ({data['bytes'] / 1e6:.3g} MB)"
    return f"{data['kind']} = {data['value']}"


def _tolerance(tolerance: Tolerance) -> str:
    by_dtype = ", ".join(f"{dtype} {bound:g}" for dtype, bound in tolerance.relative.items())
    reason = f" ({tolerance.reason})" if tolerance.reason else ""
    return (
        f"{by_dtype}, relative to the element plus the output's RMS; and at most {tolerance.times_pytorch:g}× "
        f"PyTorch's own error{reason}"
    )
