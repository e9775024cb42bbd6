"""Which protections this machine offers, found by using them.

The layers are independent: where a container or a kernel forbids one, the others still hold. The first call
starts a harmless program in a full sandbox; what fails is left out and remembered with its reason.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from evoengineer.errors import SandboxError
from evoengineer.files import scratch_folder
from evoengineer.judge.sandbox.launching import LAYER_NAMES, launcher
from evoengineer.judge.sandbox.policy import run_policy

_LANDLOCK_CREATE_RULESET = 444


@dataclass(frozen=True, slots=True)
class Layer:
    """One kind of protection. `reason` says why it is active or not, and in the latter case what to do."""

    name: str
    active: bool
    reason: str
    protects: str


def layers() -> tuple[Layer, ...]:
    """All layers, outermost first."""
    failures = _failures()
    found = [
        Layer(name, name not in failures, failures.get(name) or _active_reason(name), _PROTECTS[name])
        for name in LAYER_NAMES
    ]
    return (
        *found,
        Layer(
            "privileges",
            True,
            "no_new_privs, no capabilities, only listed file descriptors",
            "set-user-id programs, inherited rights",
        ),
        Layer(
            "limits",
            True,
            "resource limits and a supervisor",
            "memory, CPU, wall time, processes, files, disk",
        ),
    )


def active_layers() -> frozenset[str]:
    """The names of those that the launcher is to use."""
    return frozenset(LAYER_NAMES) - _failures().keys()


def missing_isolation(active: frozenset[str] | None = None) -> tuple[str, ...]:
    """Which of the two indispensable kinds of isolation are lacking: "file system", "network"."""
    names = active_layers() if active is None else active
    missing = []
    if not names & {"root", "landlock"}:
        missing.append("file system")
    if not names & {"namespaces", "seccomp"}:
        missing.append("network")
    return tuple(missing)


def require_isolation(unsafe: bool) -> None:
    """Refuse to go on where a candidate could read the user's files or reach the network."""
    missing = missing_isolation()
    if missing and not unsafe:
        reasons = "\n".join(f"  {each.name}: {each.reason}" for each in layers() if not each.active)
        raise SandboxError(
            f"this machine cannot isolate candidates from the {' and the '.join(missing)}. Their code comes from "
            "a model and runs with your rights. Run `evoengineer doctor` to see what is missing, or pass --unsafe "
            "to run all the same (in a throw-away machine).",
            log=reasons,
        )


_PROTECTS = {
    "namespaces": "network, other processes, IPC, host name",
    "root": "every file that the policy does not name",
    "proc": "other processes' /proc; without it there is no /proc inside",
    "landlock": "files again, TCP, abstract sockets, signals",
    "seccomp": "system calls beyond what programs need; new sockets; other programs",
}
_REMEDIES = {
    "namespaces": "allow user namespaces: sysctl user.max_user_namespaces, on Ubuntu "
    "kernel.apparmor_restrict_unprivileged_userns=0, in Docker --security-opt seccomp=unconfined",
    "root": "allow mounts in user namespaces: in Docker --security-opt apparmor=unconfined; needs Linux 5.12",
    "proc": "in a container, run it with an unmasked /proc (Docker: --security-opt systempaths=unconfined)",
    "landlock": "needs Linux 5.13 with landlock in the list of security modules (kernel option lsm=landlock,…)",
    "seccomp": "needs Linux 5.5 with CONFIG_SECCOMP_FILTER, and no other listener of system calls around us",
}


@cache
def _failures() -> dict[str, str]:
    """The layers that do not work here, each with its reason. The launcher fails at the first; leave it out, go on."""
    from evoengineer.judge.sandbox.process import run

    failures: dict[str, str] = {}
    with scratch_folder() as scratch:
        policy = run_policy(Path(scratch), readable=[launcher()]).with_limits(wall_seconds=10.0)
        while True:
            active = frozenset(LAYER_NAMES) - failures.keys()
            try:
                run([launcher(), "--probe"], policy, layers=active)
                return failures
            except SandboxError as error:
                culprit = _culprit(error.stage, active)
                if culprit is None:
                    raise
                failures[culprit] = (
                    f"{error.stage}: {os.strerror(error.errno)}. To have it, {_REMEDIES[culprit]}"
                )
                for dependent in _dependents(culprit):
                    failures.setdefault(dependent, f"needs {culprit}")


def _culprit(stage: str, active: frozenset[str]) -> str | None:
    """The layer that a stage of the launcher belongs to."""
    verb = stage.split(" ", maxsplit=1)[0].rstrip(":")
    if stage.startswith("mount proc"):
        name = "proc"
    elif verb == "landlock":
        name = "landlock"
    elif verb in ("seccomp", "send", "admit"):
        name = "seccomp"
    elif verb in ("clone", "open", "write"):
        name = "namespaces"
    elif verb in (
        "mount",
        "mkdir",
        "pivot_root",
        "bind",
        "protect",
        "symlink",
        "umount",
        "rmdir",
        "create",
        "find",
    ):
        name = "root"
    else:
        return None
    return name if name in active else None


def _dependents(name: str) -> tuple[str, ...]:
    return {"namespaces": ("root", "proc"), "root": ("proc",)}.get(name, ())


def _active_reason(name: str) -> str:
    if name == "landlock":
        return f"version {ctypes.CDLL(None).syscall(_LANDLOCK_CREATE_RULESET, None, 0, 1)}"
    return "works here"
