"""A scatter plot on logarithmic axes, as SVG text: predicted against published times."""

from __future__ import annotations

import math
from collections.abc import Sequence

_SIZE, _MARGIN = 520, 56
_COLOURS = {"fit": "#9aa5b1", "test": "#0b6bcb"}
_NAMES = {"fit": "fitted on", "test": "held out"}


def scatter(points: Sequence[tuple[float, float, str]]) -> str:
    """Points are (measured, predicted, use); lines mark equality and a factor of 1.3 either way."""
    values = [value for measured, predicted, _ in points for value in (measured, predicted)]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    span = max(high - low, 1)
    inner = _SIZE - 2 * _MARGIN

    def x(value: float) -> float:
        return _MARGIN + (math.log10(value) - low) / span * inner

    def y(value: float) -> float:
        return _SIZE - x(value)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_SIZE} {_SIZE}" width="{_SIZE}" '
        f'height="{_SIZE}" font-family="sans-serif" font-size="12">',
        f'<rect width="{_SIZE}" height="{_SIZE}" fill="white"/>',
    ]
    for power in range(low, low + span + 1):
        at = 10.0**power
        parts.append(_line(x(at), _MARGIN, x(at), _SIZE - _MARGIN, "#e4e7eb"))
        parts.append(_line(_MARGIN, y(at), _SIZE - _MARGIN, y(at), "#e4e7eb"))
        parts.append(_text(x(at), _SIZE - _MARGIN + 18, f"{at:g}", "middle"))
        parts.append(_text(_MARGIN - 8, y(at) + 4, f"{at:g}", "end"))
    first, last = 10.0**low, 10.0 ** (low + span)
    parts.append(_line(x(first), y(first), x(last), y(last), "#52606d"))
    for factor in (1.3, 1 / 1.3):
        start, end = (first, last / factor) if factor > 1 else (first / factor, last)
        parts.append(_line(x(start), y(start * factor), x(end), y(end * factor), "#cbd2d9"))
    for measured, predicted, use in sorted(points, key=lambda point: point[2]):
        parts.append(
            f'<circle cx="{x(measured):.1f}" cy="{y(predicted):.1f}" r="3.5" fill="{_COLOURS[use]}" '
            'fill-opacity="0.75"/>'
        )
    parts.append(_text(_SIZE / 2, _SIZE - 12, "published, µs", "middle"))
    parts.append(
        f'<text x="16" y="{_SIZE / 2}" text-anchor="middle" transform="rotate(-90 16 {_SIZE / 2})">'
        "predicted, µs</text>"
    )
    for i, use in enumerate(("test", "fit")):
        parts.append(
            f'<circle cx="{_MARGIN + 14}" cy="{_MARGIN + 14 + 18 * i}" r="4" fill="{_COLOURS[use]}"/>'
        )
        parts.append(_text(_MARGIN + 24, _MARGIN + 18 + 18 * i, _NAMES[use], "start"))
    return "\n".join([*parts, "</svg>", ""])


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#323f4b">{text}</text>'
