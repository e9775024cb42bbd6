"""The villain, a place for it, and the sets of layers it is locked up by."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from evoengineer.judge.sandbox import Completed, Policy, compile_policy, run, run_policy
from evoengineer.judge.sandbox.isolation import active_layers
from evoengineer.toolchain.native_build import build_executable

HERE = Path(__file__).parent
WORKED = 42

# All; what is left where a container forbids namespaces; and what is left on a kernel without the other two.
LAYER_SETS = {
    "all": frozenset({"namespaces", "root", "proc", "landlock", "seccomp"}),
    "no-namespaces": frozenset({"landlock", "seccomp"}),
    "namespaces-only": frozenset({"namespaces", "root", "proc"}),
}

Attack = Callable[..., Completed]


@pytest.fixture(scope="session")
def villain() -> Path:
    return build_executable([HERE / "villain.cpp"], "villain", ("-std=c++17", "-O1", "-pthread"))


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    directory = tmp_path / "scratch"
    directory.mkdir()
    return directory


@pytest.fixture
def running(scratch: Path, villain: Path) -> Policy:
    """The policy of a candidate's run; the villain is the candidate."""
    return run_policy(scratch, readable=[villain]).with_limits(wall_seconds=10.0, memory_bytes=256 << 20)


@pytest.fixture
def compiling(scratch: Path, villain: Path) -> Policy:
    """The policy of a compiler, which may have many processes."""
    return compile_policy(scratch, readable=[villain]).with_limits(wall_seconds=10.0)


@pytest.fixture(params=list(LAYER_SETS))
def layer_set(request: pytest.FixtureRequest) -> frozenset[str]:
    wanted = LAYER_SETS[request.param]
    if not wanted <= active_layers():
        pytest.skip(f"this machine lacks {', '.join(sorted(wanted - active_layers()))}")
    return wanted


@pytest.fixture
def attack(villain: Path) -> Attack:
    """Run one command of the villain; by default with all layers that the machine has."""

    def go(policy: Policy, *words: object, layers: frozenset[str] | None = None) -> Completed:
        return run([villain, *map(str, words)], policy, layers=layers)

    return go
