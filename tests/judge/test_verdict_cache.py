"""The key of a verdict holds all that it depends on; the cache of verdicts never costs an answer."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest

from evoengineer.card.name import DeviceName
from evoengineer.card.profile import Profile
from evoengineer.files import CACHE_VARIABLE
from evoengineer.judge import verdict_cache
from evoengineer.judge.verdict import Outcome, Verdict
from evoengineer.judge.verdict_cache import VerdictCache, our_version, verdict_key
from evoengineer.problem.model import Case, Distribution, Problem, Tolerance

DEVICE = DeviceName.parse("sim:rtx4090")


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    folder = tmp_path / "problem"
    (folder / "tables").mkdir(parents=True)
    (folder / "problem.py").write_text(
        "import helper\nweights = (folder / 'weights.npy', folder / 'tables' / '1.txt')\n"
    )
    (folder / "helper.py").write_text("import deeper\n")
    for name in ("deeper.py", "weights.npy", "tables/1.txt", "baseline.cu", "notes.txt"):
        (folder / name).write_text("1\n")
    case = Case.bench(n=4)
    return Problem(
        *("add", folder / "problem.py", "Add", "a + b", (case,), Tolerance(), (Distribution.NORMAL,)),
        *(folder / "baseline.cu", "folder"),
    )


def append(path: Path) -> None:
    path.write_text(path.read_text() + "# more\n")


@pytest.mark.parametrize(
    "name", ["problem.py", "baseline.cu", "helper.py", "deeper.py", "weights.npy", "tables/1.txt"]
)
def test_files_of_the_problem_change_the_key(problem: Problem, name: str) -> None:
    before = verdict_key(problem, DEVICE, 1)
    assert verdict_key(problem, DEVICE, 1) == before
    append(problem.path.parent / name)
    assert verdict_key(problem, DEVICE, 1) != before


def test_files_that_the_problem_does_not_name_do_not(problem: Problem) -> None:
    before = verdict_key(problem, DEVICE, 1)
    append(problem.path.parent / "notes.txt")
    assert verdict_key(problem, DEVICE, 1) == before


def test_problem_device_and_seed_change_the_key(problem: Problem) -> None:
    keys = {
        verdict_key(problem, DEVICE, 1),
        verdict_key(replace(problem, name="sub"), DEVICE, 1),
        verdict_key(replace(problem, baseline=None), DEVICE, 1),
        verdict_key(problem, DeviceName.parse("sim:t4"), 1),
        verdict_key(problem, DeviceName.parse("sim:rtx4090@1500"), 1),
        verdict_key(problem, DEVICE, 2),
    }
    assert len(keys) == 6


def test_figures_of_the_card_change_the_key(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    before = verdict_key(problem, DEVICE, 1)
    other: Profile = replace(DEVICE.profile, dram_latency=1)
    monkeypatch.setattr(DeviceName, "profile", property(lambda self: other))
    assert verdict_key(problem, DEVICE, 1) != before


def test_a_real_gpu_counts_by_model_and_driver(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = set()
    for identity in ("RTX 4090, 580.1", "RTX 4090, 581.2"):
        monkeypatch.setattr(verdict_cache, "gpu_identity", lambda device, said=identity: said)
        keys.add(verdict_key(problem, DeviceName.parse("cuda:0"), 1))
    assert len(keys) == 2


def test_compilers_change_the_key(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    before = verdict_key(problem, DEVICE, 1)
    monkeypatch.setattr(verdict_cache, "toolchain_digest", lambda toolchain: "another")
    assert verdict_key(problem, DEVICE, 1) != before


@pytest.mark.parametrize("package", ["torch", "numpy", "llvmlite"])
def test_packages_change_the_key(problem: Problem, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    before = verdict_key(problem, DEVICE, 1)
    real = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "0.0" if name == package else real(name))
    assert verdict_key(problem, DEVICE, 1) != before


@pytest.mark.parametrize("part", ["judge/pool.py", "sim/runtime/abi.h", "kernel/support/x.cu", "card/a.toml"])
def test_our_own_sources_change_the_key(
    problem: Problem, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, part: str
) -> None:
    sources = tmp_path / "sources"
    (sources / part).parent.mkdir(parents=True)
    (sources / part).write_text("1\n")
    monkeypatch.setattr(verdict_cache, "_SOURCES", sources)
    keys = set()
    for _ in range(2):
        our_version.cache_clear()
        keys.add(verdict_key(problem, DEVICE, 1))
        append(sources / part)
    our_version.cache_clear()
    assert len(keys) == 2


# -- keeping -------------------------------------------------------------------------------------------


def test_verdicts_come_back_and_passing_ones_are_not_kept(
    problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    cache = VerdictCache(problem, DEVICE, 1)
    verdict = Verdict(Outcome.WRONG, "off by one")
    assert cache.find("a") is None
    cache.keep("a", verdict)
    cache.keep("b", replace(verdict, outcome=Outcome.TIMED_OUT))
    assert cache.find("a") == verdict
    assert cache.find("b") is None
    assert VerdictCache(problem, DEVICE, 2).find("a") is None


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def flipped(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"wrong", b"valid"))


@pytest.mark.parametrize("damage", [emptied, flipped, Path.unlink])
def test_a_damaged_verdict_is_no_verdict(
    problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path], None]
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    cache = VerdictCache(problem, DEVICE, 1)
    cache.keep("a", Verdict(Outcome.WRONG, "off by one"))
    (kept,) = (tmp_path / "cache").glob("verdicts/*/a")
    damage(kept)
    assert cache.find("a") is None
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").write_text("in the way")
    cache.keep("a", Verdict(Outcome.WRONG, "off by one"))
    assert cache.find("a") is None
