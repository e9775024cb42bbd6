"""The sandbox must hold for root in a container and for an ordinary user alike."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
NOBODY = 65534
# The shell in between starts without root's capabilities; setpriv itself still has some when it executes.
AS_NOBODY = (
    "--reuid",
    str(NOBODY),
    "--regid",
    str(NOBODY),
    "--clear-groups",
    "/bin/sh",
    "-c",
    'exec "$0" "$@"',
)


@pytest.fixture
def home_of_nobody() -> Iterator[Path]:
    """Not below pytest's own directory, which is closed to other users."""
    with tempfile.TemporaryDirectory(prefix="evosandbox-nobody-") as name:
        os.chown(name, NOBODY, NOBODY)
        yield Path(name)


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests have run as an ordinary user already")
def test_everything_as_an_ordinary_user(home_of_nobody: Path) -> None:
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("no setpriv (util-linux)")
    home = home_of_nobody
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "EVOENGINEER_CACHE_DIR": str(home / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(Path(pytest.__file__).parents[1])]),
    }
    python = usable_python([setpriv, *AS_NOBODY], environment)
    if python is None:
        pytest.skip("no Python that other users may run and that finds this checkout")
    files = [str(HERE / name) for name in ("test_threats.py", "test_process.py")]
    chosen = "not nvcc and not endless"  # the simulated GPU's parts take long to build in an empty cache
    done = subprocess.run(
        [setpriv, *AS_NOBODY, python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen,
         f"--basetemp={home / 'tmp'}", *files],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert "passed" in done.stdout


def usable_python(prefix: list[str], environment: dict[str, str]) -> str | None:
    """This interpreter may live in a directory of root's; the system's will do if it is new enough."""
    for python in (sys.executable, shutil.which("python3", path="/usr/bin:/usr/local/bin")):
        if python is not None:
            command = [*prefix, python, "-c", "import evoengineer.judge.sandbox, pytest"]
            if subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 0:
                return python
    return None
