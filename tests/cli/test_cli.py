"""The command line: exit codes, messages, and what reaches nvcc and the device."""

import subprocess
import sys
from pathlib import Path

import pytest

from evoengineer import __version__
from evoengineer.card.profile import profile_names
from evoengineer.cli import main
from evoengineer.cli.sim import split_arguments


def test_no_argument_at_all_prints_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out = capsys.readouterr().out
    assert "evolve" in out
    assert "search for a faster kernel" in out


def test_devices_lists_every_card(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", "devices"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["DEVICE", "CARD", "CC"]
    card = next(line for line in lines if line.startswith("sim:rtx4090 (default)"))
    assert " ".join(card.split()).startswith("sim:rtx4090 (default) NVIDIA GeForce RTX 4090 8.9 128")
    assert len(lines) == 1 + len(profile_names())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sim", "run", "absent.cu"], "absent.cu: no such file"),
        (["sim", "run", "a.cu", "12"], "12: no such file. Arguments for the program itself go after `--`."),
        (["sim", "run", "a.cu", "--threads", "2", "b.cu"], "b.cu: no such file"),
        (["sim", "run", "notes.txt"], "notes.txt is not a CUDA or C++ source"),
        (["sim", "run"], "the following arguments are required: FILE"),
        (
            ["sim", "run", "a.cu", "--frobnicate"],
            "unknown option --frobnicate; options for nvcc go in --nvcc-arg",
        ),
        (["sim", "run", "a.cu", "-O3"], "unknown option -O3"),
        (["sim", "run", "a.cu", "--thread", "2"], "unknown option --thread"),
        (["sim", "run", "a.cu", "--device", "sim:gtx480"], "unknown device 'sim:gtx480'"),
        (["sim", "run", "a.cu", "--device", "cuda:0"], "cuda:0: only simulated devices can be used here"),
        (
            ["sim", "run", "a.cu", "--check", "leaks"],
            "unknown check 'leaks'; valid: memory, sync, race, init, all, none",
        ),
        (["sim", "run", "a.cu", "--threads", "0"], "--threads must be at least 1, not 0"),
        (["sim", "run", "a.cu", "--threads", "many"], "argument --threads: invalid int value: 'many'"),
        (["sim", "run", "a.cu", "--max-seconds", "-1"], "--max-seconds must not be negative"),
        (["sim", "run", "a.cu", "--max-seconds", "nan"], "--max-seconds must not be negative"),
        (["sim", "run", "a.cu", "--nvcc-arg"], "argument --nvcc-arg/-A: expected one argument"),
        (["sim", "exec", "absent"], "absent: no such program"),
        (["sim", "exec", "a.cu"], "a.cu is not executable"),
        (["sim", "exec", "a.cu", "1"], "unexpected argument '1'"),
        (["sim", "devices", "x"], "unexpected argument 'x'"),
        (["sim", "walk"], "invalid choice: 'walk'"),
        (["fly"], "invalid choice: 'fly'"),
    ],
)
def test_wrong_usage_is_named(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.cu").write_text("int main() {}\n")
    (tmp_path / "notes.txt").touch()
    assert main(words) == 2
    output = capsys.readouterr()
    assert message in output.err
    assert output.err.startswith("evoengineer: ")
    assert output.out == ""


def test_nvcc_arguments_may_begin_with_a_dash() -> None:
    words = [
        "sim",
        "run",
        "a.cu",
        "--nvcc-arg",
        "-O3",
        "-A",
        "-lm",
        "--nvcc-arg=-g",
        "--",
        "-x",
        "--",
        "-A",
        "y",
    ]
    own, theirs = split_arguments(words)
    assert own == ["sim", "run", "a.cu", "--nvcc-arg=-O3", "--nvcc-arg=-lm", "--nvcc-arg=-g"]
    assert theirs == ["-x", "--", "-A", "y"]


def test_the_module_is_the_command() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "evoengineer", "--version"], capture_output=True, text=True, check=True
    )
    assert run.stdout == f"evoengineer {__version__}\n"


def test_compile_errors_show_the_compilers_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.cu").write_text("int main() { return undeclared; }\n")
    assert main(["sim", "run", str(tmp_path / "bad.cu")]) == 1
    errors = capsys.readouterr().err
    assert 'error: identifier "undeclared" is undefined' in errors
    assert errors.endswith(f"evoengineer: nvcc does not compile {tmp_path / 'bad.cu'}\n")
