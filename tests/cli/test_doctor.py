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
