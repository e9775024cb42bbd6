"""Files that a person wrote or asks for: what is wrong with one is said with its name, and is wrong usage.

Kernels, settings, prices, scripts and recordings are read through here, so that a file in another encoding, a folder
in its place or TOML that is none gives the same kind of message everywhere.
"""

import math
import tomllib
from pathlib import Path
from typing import Any

from evoengineer.errors import UsageError


def read_text(path: Path, what: str = "") -> str:
    """The text of a file; `what` it is, for the message."""
    name = f"{what} {path}".strip()
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{name}: it is not UTF-8 text (byte {error.start} is 0x{error.object[error.start]:02x}). "
            "Save it as UTF-8, or convert it with iconv."
        ) from error
    except OSError as error:
        raise UsageError(f"{name}: {(error.strerror or str(error)).lower()}") from error
    except ValueError as error:  # a path with a null character in it
        raise UsageError(f"{name!r} is not the name of a file") from error


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """A file in TOML."""
    text = read_text(path, what)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{what} {path}: {error}") from error
    except (ValueError, RecursionError) as error:  # a number or a nesting beyond what Python reads
        raise UsageError(f"{what} {path}: it cannot be read: {error}") from error


def is_file(path: Path) -> bool:
    """Also for names that no file can have."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def check_writable(path: Path, what: str) -> None:
    """Refuse a place for a file where none can be."""
    try:
        if path.is_dir():
            raise UsageError(f"{what} {path}: it is a folder; name a file")
        for parent in path.absolute().parents:
            if parent.is_dir():
                return
            if parent.exists():
                raise UsageError(f"{what} {path}: {parent} is a file, not a folder")
    except (OSError, ValueError) as error:
        raise UsageError(f"{what} {str(path)!r}: {error}") from error


def check_folder(path: Path, what: str) -> None:
    """Refuse a place for a folder where there is a file."""
    check_writable(path / "file", what)


def number(value: Any, name: str, *, least: float = 0.0) -> float:
    """A finite number that is not below `least`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"{name} must be a number, not {value!r}")
    if not math.isfinite(value) or value < least:
        raise UsageError(f"{name} must be a number of at least {least:g}, not {value!r}")
    return float(value)
