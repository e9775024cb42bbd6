"""Where EvoEngineer keeps files that it can make again: compiled runtimes, machine code of kernels."""

import os
from pathlib import Path

CACHE_VARIABLE = "EVOENGINEER_CACHE_DIR"


def cache_dir(kind: str) -> Path:
    """The directory for one kind of cached file, created if need be.

    `$EVOENGINEER_CACHE_DIR` comes first, then `$XDG_CACHE_HOME/evoengineer`, then `~/.cache/evoengineer`.
    """
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        root = Path(chosen)
    else:
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "evoengineer"
    directory = root / kind
    directory.mkdir(parents=True, exist_ok=True)
    return directory
