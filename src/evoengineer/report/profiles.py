"""Profiles of launches for people."""

from __future__ import annotations

from collections.abc import Iterable

from evoengineer.sim.timing.explain import explain as explain_kernel
from evoengineer.sim.timing.profile import LaunchProfile


def explain(launches: Iterable[LaunchProfile]) -> str:
    """Why launches took the time they took: a paragraph for each kernel and launch shape, by first launch."""
    groups: dict[object, list[LaunchProfile]] = {}
    for each in launches:
        groups.setdefault((each.kernel, each.grid, each.block), []).append(each)
    return "\n".join(explain_kernel(group) for group in groups.values()) or explain_kernel([])
