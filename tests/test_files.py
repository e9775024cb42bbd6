"""Caches that are damaged, read-only, full or gone cost speed, never an answer."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from evoengineer import files
from evoengineer.files import Cache, Folders, contents, digest, private_folder, scratch_folder, write_whole


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(files.CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def empty(path: Path) -> None:
    path.write_bytes(b"")


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def cut_to_the_digest(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:32])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def flip_first(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[0] ^= 1
    path.write_bytes(data)


DAMAGE = [empty, truncate, cut_to_the_digest, flip, flip_first]


def no_directory(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a read-only one for any user: nothing can be made below a regular file."""
    shutil.rmtree(root, ignore_errors=True)
    root.parent.mkdir(exist_ok=True)
    root.write_text("in the way")


def full_disk(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.replace, os.rename

    def refuse(source: str, target: str, *more: object) -> None:
        if str(root) in str(target):
            raise OSError(errno.ENOSPC, "No space left on device", str(target))
        real[0](source, target)

    monkeypatch.setattr(os, "replace", refuse)
    monkeypatch.setattr(os, "rename", refuse)


def read_only(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = tempfile.mkstemp, tempfile.mkdtemp

    def refusing(make: Callable[..., object]) -> Callable[..., object]:
        def made(*args: object, **options: object) -> object:
            if str(root) in str(options.get("dir")):
                raise OSError(errno.EROFS, "Read-only file system")
            return make(*args, **options)

        return made

    monkeypatch.setattr(tempfile, "mkstemp", refusing(real[0]))
    monkeypatch.setattr(tempfile, "mkdtemp", refusing(real[1]))


TROUBLE = [no_directory, full_disk, read_only]


# -- bytes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_is_a_miss_and_is_replaced(root: Path, damage: Callable[[Path], None]) -> None:
    cache = Cache("things")
    assert cache.get("key") is None
    cache.put("key", b"content")
    assert cache.get("key") == b"content"
    damage(root / "things" / "key")
    assert cache.get("key") is None
    cache.put("key", b"content")
    assert cache.get("key") == b"content"


def test_an_entry_under_another_name_is_a_miss(root: Path) -> None:
    cache = Cache("things")
    cache.put("one", b"content")
    os.rename(root / "things" / "one", root / "things" / "two")
    assert cache.get("two") is None


@pytest.mark.parametrize("trouble", TROUBLE)
def test_nothing_is_kept_where_nothing_can_be(
    root: Path, monkeypatch: pytest.MonkeyPatch, trouble: Callable[[Path, pytest.MonkeyPatch], None]
) -> None:
    cache = Cache("things")
    cache.put("before", b"content")
    trouble(root, monkeypatch)
    cache.put("key", b"content")
    assert cache.get("key") is None
    assert not list(root.rglob(".*"))  # no partial files either


def test_a_cache_deleted_between_two_uses_is_made_again(root: Path) -> None:
    cache = Cache("things")
    cache.put("key", b"content")
    shutil.rmtree(root)
    assert cache.get("key") is None
    cache.put("key", b"content")
    assert cache.get("key") == b"content"


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_whole(path, b"old")
    full_disk(tmp_path, monkeypatch)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_objects_come_back_as_what_they_were(root: Path) -> None:
    cache = Cache("things")
    cache.put_object("key", (1, "two"))
    assert cache.get_object("key", tuple) == (1, "two")
    assert cache.get_object("key", dict) is None
    cache.put("key", b"no pickle")
    assert cache.get_object("key", tuple) is None


# -- folders -------------------------------------------------------------------------------------------


def made() -> Path:
    folder = private_folder()
    (folder / "sub").mkdir()
    (folder / "sub" / "library").write_bytes(b"code" * 100)
    (folder / "link").symlink_to("sub/library")
    return folder


@pytest.mark.parametrize("damage", [*DAMAGE, Path.unlink])
@pytest.mark.parametrize("name", ["sub/library", "manifest"])
def test_a_damaged_folder_is_a_miss_and_is_replaced(
    root: Path, damage: Callable[[Path], None], name: str
) -> None:
    folders = Folders("things")
    assert folders.find("key") is None
    place = folders.keep("key", made())
    assert place == root / "things" / "key"
    assert folders.find("key") == place
    damage(place / name)
    assert folders.find("key") is None
    assert folders.keep("key", made()) == place
    assert (place / "link").read_bytes() == b"code" * 100
    assert [each.name for each in (root / "things").iterdir()] == ["key"]


def test_another_writers_folder_is_left_in_its_place(root: Path) -> None:
    folders = Folders("things")
    place = folders.keep("key", made())
    before = (place / "sub" / "library").stat()
    own = made()
    assert folders.keep("key", own) == place
    assert (place / "sub" / "library").stat().st_ino == before.st_ino
    assert not own.exists()


@pytest.mark.parametrize("trouble", TROUBLE)
def test_a_folder_that_cannot_be_kept_serves_its_process(
    root: Path, monkeypatch: pytest.MonkeyPatch, trouble: Callable[[Path, pytest.MonkeyPatch], None]
) -> None:
    trouble(root, monkeypatch)
    folders = Folders("things")
    own = made()
    assert folders.keep("key", own) == own
    assert folders.find("key") == own
    assert Folders("things").find("key") is None
    truncate(own / "sub" / "library")
    assert folders.find("key") is None


def test_a_folder_deleted_between_two_uses_is_a_miss(root: Path) -> None:
    folders = Folders("things")
    folders.keep("key", made())
    shutil.rmtree(root)
    assert folders.find("key") is None
    assert folders.keep("key", made()) == root / "things" / "key"


# -- private folders -----------------------------------------------------------------------------------

SCRIPT = """
import os, sys
from evoengineer.files import private_folder
print(private_folder(), flush=True)
if sys.argv[1] == "killed":
    os._exit(1)
"""


def folder_of_a_process(ending: str, temporary: Path) -> Path:
    environment = {**os.environ, "TMPDIR": str(temporary)}
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, ending], env=environment, capture_output=True, text=True, check=False
    )
    return Path(run.stdout.strip())


def test_private_folders_end_with_their_process(tmp_path: Path) -> None:
    assert not folder_of_a_process("normally", tmp_path).exists()
    left = folder_of_a_process("killed", tmp_path)
    assert left.exists()
    folder_of_a_process("normally", tmp_path)  # tidies up after the dead
    assert list(tmp_path.iterdir()) == []


def test_private_folders_of_the_living_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(files, "_roots", {})
    with scratch_folder() as ours:
        folder_of_a_process("normally", tmp_path)
        assert ours.exists()
    assert not ours.exists()


# -- digests -------------------------------------------------------------------------------------------


def test_a_digest_tells_parts_apart() -> None:
    assert len({digest("ab", "c"), digest("a", "bc"), digest("abc"), digest("abc", "")}) == 4
    assert digest("é") == digest("é".encode())


def test_contents_count_by_name_and_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").write_text("2")
    assert list(contents(tmp_path)) == ["a", b"1"]
