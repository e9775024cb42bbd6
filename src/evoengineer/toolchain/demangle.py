"""C++ names as written in the source, by c++filt; a symbol stays as it is where there is none."""

import subprocess
from collections.abc import Iterable
from functools import cache


@cache
def demangle(symbol: str) -> str:
    """With the parameters' types: `softmax(float const*, float*, int)`."""
    return _filtered((symbol,), ())[0]


def demangled(symbols: Iterable[str]) -> dict[str, str]:
    """Many at once, without the parameters' types."""
    given = tuple(symbols)
    return dict(zip(given, _filtered(given, ("-p",)), strict=True))


def _filtered(symbols: tuple[str, ...], options: tuple[str, ...]) -> tuple[str, ...]:
    if not symbols:
        return ()
    try:
        run = subprocess.run(
            ["c++filt", *options],
            input="\n".join(symbols),
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except OSError:
        return symbols
    names = run.stdout.splitlines()
    return tuple(names) if len(names) == len(symbols) else symbols
