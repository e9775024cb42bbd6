"""`evoengineer problems new NAME`: a problem to start from, which passes `problems check` as it is."""

from __future__ import annotations

import re
from pathlib import Path

from evoengineer.errors import UsageError

_TEMPLATES = Path(__file__).parent / "template"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")


def write_template(name: str, out: Path | None = None) -> Path:
    """The new folder, `out` or one called like the problem in the current folder."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"name {name!r}: a letter, then letters, digits, '_', '-' and '.'; it names a folder"
        )
    folder = out if out is not None else Path(name)
    try:
        if folder.exists():
            raise UsageError(f"{folder} is there already; choose another name, or a folder with --out")
        folder.mkdir(parents=True)
        for source in sorted(_TEMPLATES.iterdir()):
            text = source.read_text(encoding="utf-8").replace("NAME", name)
            (folder / source.name.removesuffix(".txt")).write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"no folder can be made at {folder}: {error}") from error
    return folder
