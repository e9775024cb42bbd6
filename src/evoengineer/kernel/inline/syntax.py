"""Python text → syntax tree, from any thread, or SyntaxError."""

from __future__ import annotations

import ast
import threading

# Python 3.11 counts the depth of a tree for all threads at once, and fails when two of them build one.
_ONE_AT_A_TIME = threading.Lock()
_TRIES = 3


def parse_python(source: str) -> ast.Module:
    """The tree; raises SyntaxError for what is no Python, however deep, long or strange it is."""
    for _ in range(_TRIES):
        with _ONE_AT_A_TIME:
            try:
                return ast.parse(source)
            except SystemError:  # somebody else's thread
                continue
            except (ValueError, RecursionError, MemoryError) as error:
                raise SyntaxError(str(error) or type(error).__name__) from None
    raise SyntaxError("the parser failed")
