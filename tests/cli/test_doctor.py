"""`evoengineer doctor`: true findings, no secrets, an exit code to rely on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evoengineer.cli import main
from evoengineer.files import CACHE_VARIABLE, cache_root


def doctor(capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, dict[str, Any]], dict[str, Any]]:
    code = main(["doctor", "--json"])
    report = json.loads(capsys.readouterr().out)
    return code, {each["name"]: each for each in report["findings"]}, report


def test_this_machine_is_ready(capsys: pytest.CaptureFixture[str]) -> None:
    code, found, report = doctor(capsys)
    lacking = [name for name, each in found.items() if each["needed"] and each["status"] == "missing"]
    assert report["ready"] == (not lacking)
    assert code == (1 if lacking else 0)
    for name in (
        "Python",
        "host compiler",
        "nvcc",
        "ptxas",
        "simulated GPU",
        "sandbox",
        "torch",
        "GPU",
        "cache",
    ):
        assert name in found
    assert found["nvcc"]["reason"]
    assert found["simulated GPU"]["status"] == "ok"


def test_the_text_has_a_line_for_each_and_a_conclusion(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["doctor"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("✓ Python")
    assert any(line.startswith(("✓   seccomp", "–   seccomp")) for line in lines)
    assert lines[-1].startswith("Ready" if code == 0 else "Not ready")
    assert max(map(len, lines)) <= 160  # long paths are not broken


def test_keys_are_never_shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hunter2")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://user:hunter2@llm.example:8443/v1?key=hunter2")
    main(["doctor"])
    text = capsys.readouterr().out
    assert "hunter2" not in text
    assert "OPENAI_API_KEY is set" in text
    assert "https://llm.example:8443/v1 " in text


def test_without_compilers_it_fails_and_says_what_to_do(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for variable in ("CXX", "NVCC_CCBIN", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(variable, raising=False)
    code, found, report = doctor(capsys)
    assert (code, report["ready"]) == (1, False)
    assert found["host compiler"]["status"] == "missing"
    assert "apt-get install g++" in found["host compiler"]["remedy"]


def test_a_gpu_is_found_through_nvidia_smi(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text('#!/bin/sh\necho "0, NVIDIA Imaginary, 580.1, 24564 MiB"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    _, found, _ = doctor(capsys)
    assert found["GPU"]["status"] == "ok"
    assert found["GPU"]["found"] == "cuda:0, NVIDIA Imaginary, 580.1, 24564 MiB"


def test_it_imports_nothing_heavy() -> None:
    script = (
        "import sys; from evoengineer.cli import main; main(['doctor']);"
        "print(*[m for m in ('torch', 'llvmlite', 'openai') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.split() == []


def test_a_home_that_cannot_be_used_is_a_finding_and_no_failure(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file, not a folder")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")}
    environment[CACHE_VARIABLE] = str(cache_root())  # what has been built need not be built again
    run = subprocess.run(
        [sys.executable, "-m", "evoengineer", "doctor", "--json"],
        capture_output=True, check=False, env=environment, encoding="utf-8",
    )  # fmt: skip
    found = {each["name"]: each for each in json.loads(run.stdout)["findings"]}
    assert found["archive"]["status"] == "missing"
    assert "EVOENGINEER_HOME" in found["archive"]["remedy"]
    assert "Traceback" not in run.stderr


def test_a_question_that_fails_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    from evoengineer.experiment import machine

    def _torch() -> list[machine.Finding]:
        raise RuntimeError("could not determine home directory")

    monkeypatch.setattr(machine, "_torch", _torch)
    found = {each.name: each for each in machine.examine()}
    assert found["torch"].status == "missing"
    assert "could not determine home directory" in found["torch"].found
    assert found["torch"].needed


def test_what_is_built_on_a_new_machine_is_said(tmp_path: Path) -> None:
    """It was silent for over a minute."""
    script = (
        "from pathlib import Path; from evoengineer import cli; from evoengineer.toolchain import native_build\n"
        "cli._tell_of_builds()\n"
        f"native_build.build_shared([Path({str(tmp_path / 'part.cpp')!r})], 'libpart.so', ['-fPIC'])\n"
    )
    (tmp_path / "part.cpp").write_text("int part() { return 1; }\n")
    environment = {**os.environ, "EVOENGINEER_CACHE_DIR": str(tmp_path / "cache")}
    for expected in ("evoengineer: building libpart.so (once on this machine)\n", ""):
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, check=True, env=environment, encoding="utf-8"
        )
        assert done.stderr == expected
