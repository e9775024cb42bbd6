"""Numbers on the command line: whole ones and others, neither NaN nor beyond what makes sense."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

_MOST = 2**53


def whole(least: int = 0, most: int = _MOST) -> Callable[[str], int]:
    """For argparse: a whole number of at least `least`."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"invalid int value: {text!r}") from None
        if not least <= value <= most:
            limit = f"at least {least}" if value < least else f"at most {most}"
            raise argparse.ArgumentTypeError(f"must be {limit}, not {text}")
        return value

    return read


def real(least: float = 0.0) -> Callable[[str], float]:
    """For argparse: a finite number of at least `least`."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"invalid number: {text!r}") from None
        if not math.isfinite(value) or not least <= value <= _MOST:
            raise argparse.ArgumentTypeError(f"must be a number of at least {least:g}, not {text}")
        return value

    return read
