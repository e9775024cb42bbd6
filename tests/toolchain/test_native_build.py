"""Our own C++: built once, checked before use, and built all the same where nothing can be kept."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from evoengineer.errors import ToolchainError
from evoengineer.files import CACHE_VARIABLE, Folders
from evoengineer.toolchain import native_build
from evoengineer.toolchain.native_build import Part, build

ANSWER = '#include "number.h"\nextern "C" int answer() { return NUMBER; }\n'
MAIN = 'extern "C" int answer();\nint main() { return answer(); }\n'


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    native_build._object_keys.cache_clear()
    # What one test had to build for this process must not be found by the next: programs are equal, orders are not.
    monkeypatch.setattr(native_build, "_OUTPUTS", Folders("native"))
    return tmp_path / "cache"


@pytest.fixture
def program(tmp_path: Path, root: Path) -> Part:
    (tmp_path / "source").mkdir()
    for name, text in (("answer.cpp", ANSWER), ("main.cpp", MAIN), ("number.h", "#define NUMBER 42\n")):
        (tmp_path / "source" / name).write_text(text)
    sources = tuple(tmp_path / "source" / name for name in ("answer.cpp", "main.cpp"))
    return Part("program", sources, ("-O1", "-fPIC"))


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is compiled or linked since."""
    names: list[str] = []
    run = native_build._run

    def record(command: list[str], what: str, scratch: Path) -> None:
        names.append(what)
        run(command, what, scratch)

    monkeypatch.setattr(native_build, "_run", record)
    return names


def code_of(path: Path) -> int:
    return subprocess.run([path], check=False).returncode


def test_the_second_time_nothing_is_compiled(program: Part, commands: list[str]) -> None:
    first = build(program)
    assert code_of(first) == 42
    assert sorted(commands) == ["answer.cpp", "main.cpp", "program"]
    commands.clear()
    assert build(program) == first
    assert commands == []


def test_shared_libraries_archives_and_further_names(program: Part) -> None:
    library = build(replace(program, name="libanswer.so", link_flags=("-shared",), links=("libother.so",)))
    assert ctypes.CDLL(str(library.parent / "libother.so")).answer() == 42
    archive = build(replace(program, name="libanswer.a"))
    listed = subprocess.run(["ar", "t", archive], capture_output=True, text=True, check=True).stdout
    assert listed.split() == ["answer.cpp.o", "main.cpp.o"]


def test_a_changed_header_or_option_is_another_program(program: Part) -> None:
    first = build(program)
    other = build(replace(program, flags=("-O2", "-fPIC")))
    (program.sources[0].parent / "number.h").write_text("#define NUMBER 7\n")
    native_build._object_keys.cache_clear()  # as in another process
    changed = build(program)
    assert len({first, other, changed}) == 3
    assert code_of(changed) == 7


def test_includes_count_by_content_not_by_place(program: Part, tmp_path: Path) -> None:
    for name, text in (("a", "1"), ("b", "1"), ("c", "2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "more.h").write_text(text)
    a, b, c = (build(replace(program, includes=(tmp_path / name,))) for name in "abc")
    assert a == b
    assert a != c


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    ],
)
def test_what_was_damaged_is_made_again(
    program: Part, root: Path, commands: list[str], damage: Callable[[bytes], bytes]
) -> None:
    output = build(program)
    output.write_bytes(damage(output.read_bytes()))
    commands.clear()
    assert code_of(build(program)) == 42
    assert commands == ["program"]
    for path in (root / "objects").iterdir():
        path.write_bytes(damage(path.read_bytes()))
    shutil.rmtree(root / "native")
    commands.clear()
    assert code_of(build(program)) == 42
    assert sorted(commands) == ["answer.cpp", "main.cpp", "program"]


def test_a_cache_deleted_between_two_uses_is_made_again(program: Part, root: Path) -> None:
    build(program)
    shutil.rmtree(root)
    assert code_of(build(program)) == 42


def test_where_nothing_can_be_written_it_is_built_for_this_process(
    program: Part, root: Path, commands: list[str]
) -> None:
    root.write_text("in the way")
    first = build(program)
    assert code_of(first) == 42
    commands.clear()
    assert build(program) == first
    assert commands == []


def test_on_a_full_disk_it_is_built_for_this_process(
    program: Part, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: str, target: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(target))

    monkeypatch.setattr(os, "replace", refuse)
    monkeypatch.setattr(os, "rename", refuse)
    built = build(program)
    assert code_of(built) == 42
    assert root not in built.parents


def test_a_mistake_is_told_with_the_compilers_words(program: Part) -> None:
    program.sources[0].write_text("int answer( {")
    with pytest.raises(ToolchainError, match=r"cannot build answer\.cpp") as caught:
        build(program)
    assert "expected" in caught.value.details
    with pytest.raises(ToolchainError, match="no sources for program"):
        build(replace(program, sources=()))
