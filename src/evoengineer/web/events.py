"""Server-sent events: a page learns that the archive has changed, and asks for what is new itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

LOOK_SECONDS = 0.5
QUIET_SECONDS = 10.0  # a sign of life: a process that dies without a word changes nothing in the file


async def changes(archive: Path, ending: Callable[[], bool]) -> AsyncIterator[bytes]:
    """An event at once, whenever the archive's files change, and now and then, until the server ends."""
    seen, quiet = stamp(archive), 0.0
    yield b"retry: 2000\ndata: 0\n\n"
    count = 0
    while not ending():
        await asyncio.sleep(LOOK_SECONDS)
        quiet += LOOK_SECONDS
        now = stamp(archive)
        if now != seen or quiet >= QUIET_SECONDS:
            seen, quiet, count = now, 0.0, count + 1
            yield f"data: {count}\n\n".encode()


def stamp(archive: Path) -> tuple[tuple[int, int], ...]:
    """Of the file and its log: neither is opened."""
    found = []
    for path in (archive, archive.with_name(archive.name + "-wal")):
        try:
            status = path.stat()
            found.append((status.st_mtime_ns, status.st_size))
        except OSError:
            found.append((0, 0))
    return tuple(found)
