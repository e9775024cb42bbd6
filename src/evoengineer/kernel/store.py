"""The cache of builds: a directory per entry, addressed by everything that goes into it.

An entry is written elsewhere and renamed into its place, so it is there completely or not at all, whoever writes
at the same time or dies meanwhile. An entry whose library does not match its record is thrown away.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from evoengineer.files import cache_dir

RECORD = "build.json"  # its digest, then JSON
_STALE_SECONDS = 3600


def entry_path(key: str) -> Path:
    return cache_dir("builds") / key[:2] / key


@contextmanager
def scratch_directory() -> Iterator[Path]:
    """A private directory on the cache's own file system."""
    root = cache_dir("builds")
    _sweep(root)
    directory = Path(tempfile.mkdtemp(prefix="tmp-", dir=root))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def load(key: str) -> tuple[Path, dict[str, Any]] | None:
    """The entry's directory and record; None when there is none that can be trusted."""
    entry = entry_path(key)
    try:
        expected, _, text = (entry / RECORD).read_bytes().partition(b"\n")
        if _sha256(text) != expected.decode():
            raise ValueError(RECORD)
        record = json.loads(text)
        for name, digest in record.pop("files").items():
            if _sha256((entry / name).read_bytes()) != digest:
                raise ValueError(name)
    except FileNotFoundError:
        if not entry.exists():
            return None
    except (OSError, ValueError):
        pass
    else:
        return entry, record
    _discard(entry)
    return None


def save(key: str, files: Mapping[str, Path], record: Mapping[str, Any], scratch: Path) -> Path:
    """Put files and record under `key`; another writer's equal entry is as good as ours."""
    prepared = Path(tempfile.mkdtemp(prefix="entry-", dir=scratch))
    digests = {}
    for name, path in files.items():
        shutil.copyfile(path, prepared / name)
        digests[name] = _sha256((prepared / name).read_bytes())
    text = json.dumps({**record, "files": digests}).encode()
    (prepared / RECORD).write_bytes(_sha256(text).encode() + b"\n" + text)
    prepared.chmod(0o755)
    entry = entry_path(key)
    entry.parent.mkdir(exist_ok=True)
    for _ in range(3):
        try:
            os.rename(prepared, entry)
        except OSError:
            if load(key) is not None:
                break
        else:
            break
    return entry


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _discard(entry: Path) -> None:
    """Out of the way first, in one step: others may be looking."""
    with tempfile.TemporaryDirectory(prefix="tmp-", dir=cache_dir("builds")) as bin_directory:
        try:
            os.rename(entry, Path(bin_directory) / entry.name)
        except OSError:
            return


@cache
def _sweep(root: Path) -> None:
    """Directories of processes that died; once per process."""
    for left in root.glob("tmp-*"):
        try:
            stale = time.time() - left.stat().st_mtime > _STALE_SECONDS
        except OSError:
            continue
        if stale:
            shutil.rmtree(left, ignore_errors=True)
