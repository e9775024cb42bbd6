"""Kernels as HTML: highlighted by Pygments, whose output is escaped; hot lines marked; differences."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

from evoengineer.sim.timing.profile import LaunchProfile

_LONGEST = 400_000  # characters; anything longer is shown as plain text


def highlighted(source: str, hot: Collection[int] = ()) -> str:
    """CUDA source with line numbers; the lines in `hot` are marked."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import CudaLexer
    from pygments.lexers.special import TextLexer

    lexer = CudaLexer(stripnl=False) if len(source) < _LONGEST else TextLexer(stripnl=False)
    return str(highlight(source, lexer, HtmlFormatter(linenos="inline", hl_lines=list(hot), cssclass="code")))


def difference(old: str, new: str, old_name: str, new_name: str) -> str:
    """A unified diff; empty where the texts are equal."""
    lines = difflib.unified_diff(
        old.splitlines(), new.splitlines(), _one_line(old_name), _one_line(new_name), lineterm="", n=3
    )
    return "\n".join(lines)


def highlighted_difference(old: str, new: str, old_name: str, new_name: str) -> str:
    """The same as HTML."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import DiffLexer

    text = difference(old, new, old_name, new_name)
    return str(highlight(text, DiffLexer(stripnl=False), HtmlFormatter(cssclass="code"))) if text else ""


def hot_lines(launches: Iterable[LaunchProfile], most: int = 8) -> dict[int, float]:
    """Lines of the kernel's own file by the share of time that their launches spend there, the hottest first."""
    launches = tuple(launches)
    total = sum(launch.time_ns for launch in launches) or 1.0
    found: dict[int, float] = {}
    for launch in launches:
        for file, line, share in launch.hot_lines:
            if file.endswith((".cu", "kernel")) or "/" not in file:
                found[line] = found.get(line, 0.0) + share * launch.time_ns / total
    return dict(sorted(found.items(), key=lambda item: -item[1])[:most])


def _one_line(name: str) -> str:
    return " ".join(name.split())
