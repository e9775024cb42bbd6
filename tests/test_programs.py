"""Every program under tests/programs, compiled with nvcc and run on the simulated GPU.

    pytest tests/test_programs.py -k memcpy_kinds      one program
    pytest tests/test_programs.py -n 2                 all, two at a time

A program is a `.cu` file, or a folder of them with headers. Programs check themselves: unless their leading
comments say otherwise they exit with 0. What a comment may say, one setting per line, repeatable:

    // nvcc: OPTIONS            for the compiler
    // args: OPTIONS            for `evoengineer sim run`
    // argv: ARGUMENTS          for the program
    // stdin: TEXT              what the program reads
    // expect: REGEX            found on stderr (multi-line mode)
    // expect-stdout: REGEX     found on stdout
    // expect-exit: N|nonzero   the exit code, 0 if not given
    // seconds: N               time limit for compiling and running
    // optional: REASON         an expected failure, should it fail

In a REGEX, `@name` stands for the number of the line that ends in the comment `// @name`. A file of the same
name with the suffix `.expected` holds the whole of stdout.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
SOURCE = Path(__file__).parents[1] / "src"
DEFAULT_SECONDS = 180

# Programs whose output could tell how their threads were scheduled.
DETERMINISM = ("api/deterministic_order", "api/cooperative_launch", "api/launch_forms", "api/graph_capture")

_SETTING = re.compile(
    r"//\s*(nvcc|args|argv|stdin|expect|expect-stdout|expect-exit|seconds|optional):\s?(.*)"
)
_MARK = re.compile(r"//\s*@(\w+)\s*$")


@dataclass(frozen=True)
class Program:
    name: str
    sources: tuple[Path, ...]
    settings: tuple[tuple[str, str], ...]
    marks: tuple[tuple[str, int], ...]
    expected_stdout: str | None

    def values(self, key: str) -> list[str]:
        return [value for name, value in self.settings if name == key]

    def words(self, key: str) -> list[str]:
        return [word for value in self.values(key) for word in shlex.split(value)]

    def patterns(self, key: str) -> list[str]:
        """The regular expressions of this key, with line numbers in the place of marks."""
        lines = dict(self.marks)
        return [re.sub(r"@(\w+)", lambda mark: str(lines[mark[1]]), value) for value in self.values(key)]

    def command(self, *options: str) -> list[str]:
        nvcc = [word for argument in self.words("nvcc") for word in ("--nvcc-arg", argument)]
        sources = [str(path) for path in self.sources]
        arguments = [sys.executable, "-m", "evoengineer", "sim", "run", *sources, *nvcc, *self.words("args")]
        return [*arguments, *options, "--", *self.words("argv")]


@dataclass(frozen=True)
class Outcome:
    exit_code: int
    stdout: str
    stderr: str

    def __str__(self) -> str:
        return f"exit code {self.exit_code}\n--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"


def read_program(path: Path) -> Program:
    sources = tuple(sorted(path.glob("*.cu"))) if path.is_dir() else (path,)
    settings: list[tuple[str, str]] = []
    marks: list[tuple[str, int]] = []
    for source in sources:
        heading = True
        for number, line in enumerate(source.read_text().splitlines(), start=1):
            heading = heading and line.startswith("//")
            if heading and (setting := _SETTING.fullmatch(line)):
                settings.append((setting[1], setting[2].rstrip()))
            if mark := _MARK.search(line):
                marks.append((mark[1], number))
    expected = path.with_suffix(".expected")
    return Program(
        name=path.relative_to(PROGRAMS).with_suffix("").as_posix(),
        sources=sources,
        settings=tuple(settings),
        marks=tuple(marks),
        expected_stdout=expected.read_text() if expected.exists() else None,
    )


def find_programs(*groups: str) -> list[Program]:
    paths = [path for group in groups for path in sorted((PROGRAMS / group).iterdir())]
    folders = [path for path in paths if path.is_dir() and any(path.glob("*.cu"))]
    return [read_program(path) for path in paths if path.suffix == ".cu" or path in folders]


def environment() -> dict[str, str]:
    """Ours, with the package found even where it is not installed."""
    path = os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path}


def run(program: Program, *options: str) -> Outcome:
    """Compile and run through the command line; everything it started is gone afterwards."""
    seconds = float((program.values("seconds") or [str(DEFAULT_SECONDS)])[-1])
    process = subprocess.Popen(
        program.command(*options),
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        stdout, stderr = process.communicate("\n".join(program.values("stdin")), timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        stdout, stderr = process.communicate()
        pytest.fail(f"{program.name} took longer than {seconds:.0f} s\n{stdout}\n{stderr}")
    return Outcome(process.returncode, stdout, stderr)


def complaints(program: Program, outcome: Outcome) -> Iterator[str]:
    """Where the outcome is not what the program's comments promise."""
    code = (program.values("expect-exit") or ["0"])[-1]
    if code == "nonzero":
        if outcome.exit_code == 0:
            yield "exit code 0, expected another"
    elif outcome.exit_code != int(code):
        yield f"exit code {outcome.exit_code}, expected {code}"
    for key, text in (("expect", outcome.stderr), ("expect-stdout", outcome.stdout)):
        for pattern in program.patterns(key):
            if not re.search(pattern, text, re.MULTILINE):
                yield f"{'stderr' if key == 'expect' else 'stdout'} has no match for {pattern!r}"
    if program.expected_stdout is not None and outcome.stdout != program.expected_stdout:
        yield f"stdout differs from the .expected file:\n{program.expected_stdout}"


def verify(program: Program) -> None:
    outcome = run(program)
    found = list(complaints(program, outcome))
    if not found:
        return
    message = "\n".join([*found, str(outcome)])
    if reasons := program.values("optional"):
        pytest.xfail(f"{reasons[0]}: {message[:300]}")
    pytest.fail(f"{program.name}: {message}", pytrace=False)


def by_name(program: Program) -> str:
    return program.name


@pytest.mark.parametrize("program", find_programs("ptx"), ids=by_name)
def test_instructions(program: Program) -> None:
    verify(program)


@pytest.mark.parametrize("program", find_programs("api"), ids=by_name)
def test_runtime(program: Program) -> None:
    verify(program)


@pytest.mark.parametrize("program", find_programs("errors"), ids=by_name)
def test_error_message(program: Program) -> None:
    assert program.values("expect-exit"), "an error program says how it ends"
    verify(program)


@pytest.mark.parametrize("name", DETERMINISM)
def test_same_output_with_any_number_of_threads(name: str) -> None:
    program = read_program(PROGRAMS / f"{name}.cu")
    outcomes = [run(program, "--threads", str(threads)) for threads in (1, 2, 4)]
    assert outcomes[0].exit_code == 0, str(outcomes[0])
    assert outcomes[1] == outcomes[0]
    assert outcomes[2] == outcomes[0]
