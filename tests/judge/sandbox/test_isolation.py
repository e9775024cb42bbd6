"""Which layers are found, and what happens where some are missing."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from evoengineer.errors import SandboxError
from evoengineer.judge.sandbox import layers, require_isolation
from evoengineer.judge.sandbox.isolation import missing_isolation

SHOW = """
import json
from evoengineer.judge.sandbox import layers
print(json.dumps({each.name: [each.active, each.reason] for each in layers()}))
"""
# Restrictions as containers make them; each needs a user namespace of its own to be made.
NO_NAMESPACES = "echo 0 > /proc/sys/user/max_user_namespaces"
MASKED_PROC = "mount -t tmpfs none /proc/bus || mount -t tmpfs none /proc/fs"


def layers_where(setup: str) -> dict[str, tuple[bool, str]]:
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("no unshare (util-linux)")
    script = f'{setup} && exec "$0" -c "$1"'
    command = [unshare, "--user", "--map-root-user", "--mount", "/bin/sh", "-c", script, sys.executable, SHOW]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"this machine does not let us restrict ourselves: {done.stderr.strip()[-200:]}")
    return {name: (active, reason) for name, (active, reason) in json.loads(done.stdout).items()}


def test_every_layer_says_why_and_what_for() -> None:
    found = layers()
    assert [each.name for each in found[:3]] == ["namespaces", "root", "proc"]
    assert all(each.reason and each.protects for each in found)
    assert {"privileges", "limits"} <= {each.name for each in found if each.active}


def test_without_namespaces_the_others_hold() -> None:
    found = layers_where(NO_NAMESPACES)
    assert not found["namespaces"][0]
    assert "clone" in found["namespaces"][1]
    assert "max_user_namespaces" in found["namespaces"][1]
    assert found["root"] == (False, "needs namespaces")
    here = {each.name: each.active for each in layers()}
    assert found["seccomp"][0] == here["seccomp"]
    assert found["landlock"][0] == here["landlock"]


def test_with_a_masked_proc_there_is_none() -> None:
    found = layers_where(MASKED_PROC)
    assert found["namespaces"][0]
    assert found["root"][0]
    assert not found["proc"][0]
    assert "mount proc: Operation not permitted" in found["proc"][1]


@pytest.mark.parametrize(
    ("active", "missing"),
    [
        ({"namespaces", "root", "landlock", "seccomp"}, ()),
        ({"landlock", "seccomp"}, ()),
        ({"namespaces", "root"}, ()),
        ({"seccomp"}, ("file system",)),
        ({"landlock"}, ("network",)),
        (set(), ("file system", "network")),
    ],
)
def test_what_isolation_takes(active: set[str], missing: tuple[str, ...]) -> None:
    assert missing_isolation(frozenset(active)) == missing


def test_refusal_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = {name: f"{name} is forbidden here" for name in ("namespaces", "root", "proc", "landlock")}
    monkeypatch.setattr("evoengineer.judge.sandbox.isolation._failures", lambda: lacking)
    require_isolation(unsafe=True)
    with pytest.raises(SandboxError, match="from the file system.*doctor.*--unsafe") as caught:
        require_isolation(unsafe=False)
    assert "landlock is forbidden here" in caught.value.details
