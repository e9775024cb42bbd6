"""Files that can be made again: where they lie, how they are written, and when they are trusted.

A cache costs speed when it fails, never an answer. What is read is checked against its digest; in a cache that is
read-only, full, damaged or deleted meanwhile nothing is found and nothing is kept, and nothing is raised. What must
be a file all the same then stays in a private folder of this process.
"""

import atexit
import fcntl
import hashlib
import json
import os
import pickle
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn, TypeVar

CACHE_VARIABLE = "EVOENGINEER_CACHE_DIR"
_PRIVATE_PREFIX = "evoengineer-private-"
_MANIFEST = "manifest"  # its own digest, then JSON: file → digest
_DIGEST_BYTES = 32

T = TypeVar("T")


def cache_root() -> Path:
    """`$EVOENGINEER_CACHE_DIR` comes first, then `$XDG_CACHE_HOME/evoengineer`, then `~/.cache/evoengineer`."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen)
    shared = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(shared) / "evoengineer"


def cache_dir(kind: str) -> Path:
    """The directory for one kind of file, created if need be; raises OSError where that can't be."""
    directory = cache_root() / kind
    directory.mkdir(parents=True, exist_ok=True)
    return directory


# -- digests and writing -------------------------------------------------------------------------------


def digest(*parts: str | bytes) -> str:
    """The same for the same parts in the same order, and for no others."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        whole.update(len(data).to_bytes(8, "little") + data)
    return whole.hexdigest()[:32]


def contents(folder: Path) -> Iterator[str | bytes]:
    """Names and bytes of all files below a folder, in order, for `digest`; what Python compiled does not count."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.parent.name != "__pycache__":
            yield path.relative_to(folder).as_posix()
            yield path.read_bytes()


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that others see all of it or nothing, whoever writes or dies at the same time."""
    handle, partial = tempfile.mkstemp(prefix=".", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(partial, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(partial)
        raise


# -- bytes by key --------------------------------------------------------------------------------------


class Cache:
    """One kind of data on disk, a file per key."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def get(self, key: str) -> bytes | None:
        """What was put; None if nothing was, or if it is no longer what it was."""
        try:
            found = self._path(key).read_bytes()
        except OSError:
            return None
        data = found[_DIGEST_BYTES:]
        return data if found[:_DIGEST_BYTES] == _seal(key, data) else None

    def put(self, key: str, data: bytes) -> None:
        path = self._path(key)
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, _seal(key, data) + data)

    def get_object(self, key: str, kind: type[T]) -> T | None:
        """As `get`, for an object of ours; the key must change with the code that made it."""
        data = self.get(key)
        try:
            found = None if data is None else pickle.loads(data)
        except (pickle.PickleError, EOFError, AttributeError, ImportError):
            return None
        return found if isinstance(found, kind) else None

    def put_object(self, key: str, value: object) -> None:
        self.put(key, pickle.dumps(value, protocol=5))

    def _path(self, key: str) -> Path:
        return cache_root() / self._kind / key


def _seal(key: str, data: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\0" + data).digest()


# -- folders by key ------------------------------------------------------------------------------------


class Folders:
    """One kind of folder on disk, for what must lie in files: libraries, programs, headers."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._private: dict[str, Path] = {}  # what the cache did not take

    def find(self, key: str) -> Path | None:
        """The folder, if it is there and every file in it is what it was."""
        places = (cache_root() / self._kind / key, self._private.get(key))
        return next((place for place in places if place is not None and _intact(place, key)), None)

    def keep(self, key: str, folder: Path) -> Path:
        """Take over a folder that `private_folder` gave; where its content lies from now on."""
        place = cache_root() / self._kind / key
        with suppress(OSError):
            _write_manifest(folder, key)
            place.parent.mkdir(parents=True, exist_ok=True)
            with scratch_folder(place.parent) as partial:
                shutil.copytree(folder, partial / "new", symlinks=True)
                (partial / "new").chmod(0o755)
                if place.exists() and not _intact(place, key):
                    os.rename(place, partial / "damaged")
                os.rename(partial / "new", place)
        if _intact(place, key):  # ours, or another writer's equal one
            shutil.rmtree(folder, ignore_errors=True)
            return place
        self._private[key] = folder
        return folder


def _write_manifest(folder: Path, key: str) -> None:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    digests = {path.relative_to(folder).as_posix(): _file_digest(path) for path in files}
    text = json.dumps(digests).encode()
    (folder / _MANIFEST).write_bytes(_seal(key, text) + text)


def _intact(folder: Path, key: str) -> bool:
    try:
        found = (folder / _MANIFEST).read_bytes()
        if found[:_DIGEST_BYTES] != _seal(key, found[_DIGEST_BYTES:]):
            return False
        digests = json.loads(found[_DIGEST_BYTES:])
        return all(_file_digest(folder / name) == each for name, each in digests.items())
    except OSError:
        return False


def _file_digest(path: Path) -> str:
    return digest(os.readlink(path) if path.is_symlink() else path.read_bytes())


# -- folders of this process ---------------------------------------------------------------------------

_roots: dict[int, Path] = {}  # process → its root


def private_folder() -> Path:
    """A new folder that is gone when this process is."""
    root = _roots.get(os.getpid())
    if root is None or not root.exists():
        root = _roots[os.getpid()] = _private_root()
    return Path(tempfile.mkdtemp(dir=root))


@contextmanager
def scratch_folder(inside: Path | None = None) -> Iterator[Path]:
    """A folder for as long as the block runs; a private one, unless it must lie `inside` another."""
    folder = private_folder() if inside is None else Path(tempfile.mkdtemp(prefix=".", dir=inside))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def leave(code: int) -> NoReturn:
    """End this process at once, whatever its threads do, and leave no private folder behind."""
    root = _roots.get(os.getpid())
    if root is not None:
        _remove(root, os.getpid())
    os._exit(code)


def _private_root() -> Path:
    """Held by a lock that ends with the process, however that ends, so that others know what they may remove."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PRIVATE_PREFIX}*"):
        with suppress(OSError):
            lock = os.open(left, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(lock)
    while True:
        root = Path(tempfile.mkdtemp(prefix=_PRIVATE_PREFIX))
        with suppress(FileNotFoundError):  # another process took it for a dead one's
            fcntl.flock(os.open(root, os.O_RDONLY | os.O_DIRECTORY), fcntl.LOCK_EX)
            if root.exists():
                atexit.register(_remove, root, os.getpid())
                return root


def remove_private_folders() -> None:
    """For a process that ends without the interpreter's usual way out."""
    root = _roots.get(os.getpid())
    if root is not None:
        shutil.rmtree(root, ignore_errors=True)


def _remove(root: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(root, ignore_errors=True)
