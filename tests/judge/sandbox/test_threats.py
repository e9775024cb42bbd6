"""Each threat that docs/sandbox.md names, tried for real: the attempt must fail."""

from __future__ import annotations

import os
import pty
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.judge.sandbox.conftest import LAYER_SETS, WORKED, Attack

from evoengineer.judge.sandbox import Policy, run, start
from evoengineer.judge.sandbox.isolation import active_layers


def processes_with(marker: str) -> list[int]:
    """Processes of the machine whose command line carries a word."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if marker.encode() in words:
                found.append(int(entry.name))
    return found


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """Another process of the same user, with a secret in its environment."""
    process = subprocess.Popen(["/bin/sleep", "60"], env={"SECRET": "hunter2"})
    yield process
    process.kill()
    process.wait()


def refused(completed: object) -> bool:
    ending = completed.exit  # type: ignore[attr-defined]
    return ending.code == 0 and not ending.limit


# -- the villain can do harm where nothing holds it ----------------------------------------------------------


def test_attempts_work_without_layers(
    attack: Attack, running: Policy, bystander: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    """Otherwise the tests below would prove nothing."""
    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    none: frozenset[str] = frozenset()
    assert attack(running, "read", secret, layers=none).exit.code == WORKED
    assert attack(running, "write", tmp_path / "mine", layers=none).exit.code == WORKED
    assert attack(running, "signal", bystander.pid, layers=none).exit.code == WORKED
    if os.geteuid() != 0:  # root's bystander has capabilities that the villain has lost
        assert attack(running, "environment-of", bystander.pid, layers=none).exit.code == WORKED
    assert attack(running, "fork", layers=none).exit.code == WORKED
    assert attack(running, "calls", layers=none).exit.code == WORKED
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert attack(running, "tcp", server.getsockname()[1], layers=none).exit.code == WORKED


# -- network -------------------------------------------------------------------------------------------------


def test_no_network(attack: Attack, running: Policy, layer_set: frozenset[str], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert refused(attack(running, "tcp", port, layers=layer_set))
        assert refused(attack(running, "udp", port, layers=layer_set))
    path, name = tmp_path / "socket", f"evosandbox-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as named, socket.socket(socket.AF_UNIX) as abstract:
        named.bind(str(path))
        named.listen()
        abstract.bind(f"\0{name}\0")  # the villain's address ends with its string's zero
        abstract.listen()
        assert refused(attack(running, "unix", path, layers=layer_set))
        assert refused(attack(running, "abstract", name, layers=layer_set))


def test_a_policy_may_grant_the_network(attack: Attack, running: Policy, layer_set: frozenset[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        granted = replace(running, network=True)
        assert attack(granted, "tcp", server.getsockname()[1], layers=layer_set).exit.code == WORKED


def test_compilers_have_no_network_either(attack: Attack, compiling: Policy) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert refused(attack(compiling, "tcp", server.getsockname()[1]))


# -- files ---------------------------------------------------------------------------------------------------


def test_secrets_are_out_of_reach(
    attack: Attack, running: Policy, compiling: Policy, layer_set: frozenset[str], tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    for path in (secret, "/etc/shadow", "/etc/hostname", "/dev/mem", "/dev/kmsg", "/sys/kernel", "/var/log"):
        assert refused(attack(running, "read", path, layers=layer_set)), path
        assert refused(attack(compiling, "read", path, layers=layer_set)), path
    assert refused(attack(running, "read", "/usr/include", layers=layer_set))


def test_directories_show_nothing_but_the_way_to_scratch(
    attack: Attack, running: Policy, layer_set: frozenset[str], tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("hunter2")
    for path in (tmp_path, Path.home(), Path("/")):
        done = attack(running, "read", path, layers=layer_set)
        if "landlock" in layer_set:
            assert refused(done), path
        else:
            seen = set(done.stdout.decode().split()) - {".", ".."}
            assert not seen & {"secret", ".bashrc", ".ssh", "root.txt", "home", "sys", "var"}, path


def test_symbolic_links_lead_nowhere(
    attack: Attack, running: Policy, layer_set: frozenset[str], scratch: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("hunter2")
    (scratch / "link").symlink_to(tmp_path / "secret")
    assert refused(attack(running, "read", scratch / "link", layers=layer_set))
    assert refused(attack(running, "read", scratch / ".." / "secret", layers=layer_set))


def test_nothing_but_scratch_is_writable(
    attack: Attack, running: Policy, layer_set: frozenset[str], villain: Path, tmp_path: Path
) -> None:
    places = (tmp_path / "new", villain, villain.parent / "new", "/tmp/evosandbox-new", "/usr/lib/new", "/new",
              "/dev/shm/evosandbox-new", "/proc/sys/kernel/core_pattern", "/proc/self/oom_score_adj")  # fmt: skip
    for path in places:
        assert refused(attack(running, "write", path, layers=layer_set)), path
    assert not Path("/dev/shm/evosandbox-new").exists()
    assert not Path("/tmp/evosandbox-new").exists()


@pytest.mark.parametrize("kind", ["all", "no-namespaces"])
def test_no_set_user_id_files(attack: Attack, running: Policy, kind: str) -> None:
    assert refused(attack(running, "set-user-id", layers=LAYER_SETS[kind] & active_layers()))


# -- environment and descriptors -----------------------------------------------------------------------------


def test_environment_is_the_policys(
    attack: Attack, running: Policy, monkeypatch: pytest.MonkeyPatch, layer_set: frozenset[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    lines = attack(running, "environment", layers=layer_set).stdout.decode().splitlines()
    assert dict(line.split("=", 1) for line in lines) == running.environment


def test_only_listed_descriptors_are_inherited(
    villain: Path, running: Policy, tmp_path: Path, layer_set: frozenset[str]
) -> None:
    with open(tmp_path / "open", "w") as file, open(tmp_path / "passed", "w") as passed:
        os.set_inheritable(file.fileno(), True)  # a careless library
        done = run([villain, "descriptors"], running, pass_fds=[passed.fileno()], layers=layer_set)
        assert sorted(map(int, done.stdout.split())) == [0, 1, 2, passed.fileno()]
        done = run([villain, "write-fd", str(passed.fileno())], running, pass_fds=[passed.fileno()])
        assert done.exit.code == 0
    assert (tmp_path / "passed").read_text() == "passed"


# -- other processes -----------------------------------------------------------------------------------------


def test_other_processes_are_out_of_reach(
    attack: Attack, running: Policy, layer_set: frozenset[str], bystander: subprocess.Popen[bytes]
) -> None:
    for victim in (bystander.pid, os.getpid(), os.getppid(), 1):
        for how in ("signal", "ptrace", "peek", "environment-of", "affinity"):
            own_init = victim == 1 and "namespaces" in layer_set  # it ignores signals and is idle
            if own_init and (how == "affinity" or (how == "signal" and "seccomp" not in layer_set)):
                continue
            assert refused(attack(running, how, victim, layers=layer_set)), (how, victim)


def test_compilers_cannot_signal_others(
    attack: Attack, compiling: Policy, layer_set: frozenset[str], bystander: subprocess.Popen[bytes]
) -> None:
    assert refused(attack(compiling, "signal", bystander.pid, layers=layer_set))


@pytest.mark.parametrize("kind", ["all", "no-namespaces"])
def test_no_new_process_and_no_new_program(attack: Attack, running: Policy, villain: Path, kind: str) -> None:
    layers = LAYER_SETS[kind] & active_layers()
    assert refused(attack(running, "fork", layers=layers))
    assert refused(attack(running, "exec", villain, layers=layers))
    assert refused(attack(running, "exec", "/lib64/ld-linux-x86-64.so.2", layers=layers))


def test_dangerous_system_calls(attack: Attack, running: Policy) -> None:
    done = attack(running, "calls")
    assert refused(done), done.stdout.decode()


def test_other_instruction_sets_are_fatal(attack: Attack, running: Policy) -> None:
    ending = attack(running, "int80").exit
    assert ending.signal is not None  # SIGSYS, or SIGSEGV on a kernel without 32-bit calls


def test_the_supervisor_cannot_be_blinded(attack: Attack, running: Policy) -> None:
    assert refused(attack(running, "dumpable"))


def test_no_typing_into_the_terminal(villain: Path, running: Policy) -> None:
    master, slave = pty.openpty()
    try:
        with start([villain, "terminal"], running, stdin=slave) as process:
            assert process.wait().code == 0
    finally:
        os.close(master)
        os.close(slave)


# -- limits --------------------------------------------------------------------------------------------------


def test_private_memory_is_limited(attack: Attack, running: Policy) -> None:
    done = attack(running, "private-memory", 1024)
    assert done.exit.limit == "memory" or b"Cannot allocate memory" in done.stdout


def test_shared_memory_is_limited(attack: Attack, running: Policy) -> None:
    ending = attack(running, "shared-memory", 16 << 10).exit
    assert ending.limit == "memory"
    assert 256 << 20 < ending.peak_bytes < 2 << 30


def test_cpu_time_is_limited(attack: Attack, running: Policy) -> None:
    ending = attack(running.with_limits(cpu_seconds=0.3), "spin").exit
    assert ending.limit == "cpu"
    assert ending.timed_out
    assert 0.25 < ending.cpu_seconds < 2


def test_wall_time_is_limited(attack: Attack, running: Policy) -> None:
    begun = time.monotonic()
    ending = attack(running.with_limits(wall_seconds=0.3), "sleep").exit
    assert (ending.limit, ending.timed_out, ending.signal) == ("wall", True, 9)
    assert 0.29 < time.monotonic() - begun < 3


def test_disk_is_limited_even_without_names(attack: Attack, running: Policy) -> None:
    policy = running.with_limits(disk_bytes=32 << 20, file_bytes=8 << 20)
    assert attack(policy, "disk", 2048).exit.limit == "disk"


def test_one_file_is_limited(attack: Attack, running: Policy) -> None:
    done = attack(running.with_limits(file_bytes=1 << 20), "big-file", 16)
    assert done.exit.limit == "disk"
    assert done.exit.signal == signal.SIGXFSZ


def test_fork_bomb(attack: Attack, compiling: Policy) -> None:
    ending = attack(compiling.with_limits(processes=40), "fork-bomb", 40).exit
    assert ending.limit == "processes" or ending.code == 0


def test_thread_bomb(attack: Attack, running: Policy) -> None:
    ending = attack(running.with_limits(processes=40), "thread-bomb", 40).exit
    assert ending.limit == "processes" or ending.code == 0


def test_endless_output_is_dropped_and_forges_nothing(attack: Attack, running: Policy) -> None:
    done = attack(running.with_limits(wall_seconds=0.5), "print")
    assert done.exit.limit == "wall"
    assert len(done.stdout) <= 4 << 20


# -- survivors -----------------------------------------------------------------------------------------------


def test_daemons_do_not_survive(attack: Attack, compiling: Policy, layer_set: frozenset[str]) -> None:
    marker = f"survivor-{os.getpid()}-{len(layer_set)}"
    assert attack(compiling, "daemon", marker, layers=layer_set).exit.code == 0
    assert processes_with(marker) == []


def test_time_out_kills_grandchildren(attack: Attack, compiling: Policy, layer_set: frozenset[str]) -> None:
    marker = f"grandchild-{os.getpid()}-{len(layer_set)}"
    policy = compiling.with_limits(wall_seconds=0.4)
    assert attack(policy, "daemon-sleep", marker, layers=layer_set).exit.limit == "wall"
    assert processes_with(marker) == []
