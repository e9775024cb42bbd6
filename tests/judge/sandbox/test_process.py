"""Starting, waiting, killing; what ordinary programs may do; what is reported."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.judge.sandbox.conftest import Attack
from tests.judge.sandbox.test_threats import processes_with

from evoengineer.errors import SandboxError
from evoengineer.judge.sandbox import Exit, Policy, compile_policy, run, run_policy, start
from evoengineer.judge.sandbox.launching import launcher

KERNEL = """
#include <cstdio>
__global__ void twice(float* x) { x[threadIdx.x] *= 2; }
int main() {
    float* x;
    if (cudaMalloc(&x, 128)) return 1;
    twice<<<1, 32>>>(x);
    printf("%d\\n", int(cudaDeviceSynchronize()));
}
"""
JUDGE = """
import sys, time
from pathlib import Path
from evoengineer.judge.sandbox import compile_policy, start
villain, scratch, marker = sys.argv[1:]
process = start([villain, "daemon-sleep", marker], compile_policy(Path(scratch), readable=[Path(villain)]))
print(process.pid, flush=True)
time.sleep(60)
"""


def test_ordinary_work_is_possible(
    attack: Attack, running: Policy, scratch: Path, layer_set: frozenset[str]
) -> None:
    done = attack(running, "good", scratch / "file", layers=layer_set)
    assert done.exit.succeeded, done
    assert (scratch / "file").read_text() == "hello"
    assert done.exit.peak_bytes > 64 << 20


@pytest.mark.parametrize(
    ("words", "code", "number", "text"),
    [
        (("exit", 0), 0, None, "exited with code 0"),
        (("exit", 7), 7, None, "exited with code 7"),
        (("abort",), None, signal.SIGABRT, "killed by SIGABRT"),
        (("crash",), None, signal.SIGSEGV, "killed by SIGSEGV"),
    ],
)
def test_endings(
    attack: Attack,
    running: Policy,
    layer_set: frozenset[str],
    words: tuple[object, ...],
    code: int,
    number: int,
    text: str,
) -> None:
    ending = attack(running, *words, layers=layer_set).exit
    assert (ending.code, ending.signal, ending.limit) == (code, number, "")
    assert ending.describe() == text
    assert not ending.timed_out


def test_kill_ends_the_whole_tree(villain: Path, compiling: Policy) -> None:
    marker = f"killed-{os.getpid()}"
    with start([villain, "daemon-sleep", marker], compiling) as process:
        wait_until(lambda: len(processes_with(marker)) >= 2)
        assert process.poll() is None
        ending = process.kill()
        assert processes_with(marker) == []
    assert ending.limit == "killed"
    assert process.kill() == ending


def test_leaving_the_block_ends_it(villain: Path, running: Policy) -> None:
    marker = f"left-{os.getpid()}"
    with start([villain, "sleep", marker], running):
        wait_until(lambda: bool(processes_with(marker)))
    assert processes_with(marker) == []


def test_the_thread_that_started_it_may_end(villain: Path, running: Policy) -> None:
    """A parent-death signal would come when the thread ends, not the process."""
    started = []
    thread = threading.Thread(target=lambda: started.append(start([villain, "sleep"], running)))
    thread.start()
    thread.join()
    with started[0] as process, pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.2)


def test_nothing_survives_the_judge(villain: Path, scratch: Path) -> None:
    marker = f"orphan-{os.getpid()}"
    command = [sys.executable, "-c", JUDGE, str(villain), str(scratch), marker]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as judge:
        assert judge.stdout is not None
        supervisor = int(judge.stdout.readline())
        wait_until(
            lambda: len(processes_with(marker)) >= 4
        )  # the supervisor, init, the command, its grandchild
        judge.kill()
    wait_until(lambda: not [pid for pid in processes_with(marker) if not is_zombie(pid)])
    assert not Path(f"/proc/{supervisor}").exists() or is_zombie(supervisor)


def test_nothing_survives_the_supervisor(villain: Path, compiling: Policy, layer_set: frozenset[str]) -> None:
    marker = f"headless-{os.getpid()}"
    with start([villain, "daemon-sleep", marker], compiling, layers=layer_set) as process:
        wait_until(lambda: len(processes_with(marker)) >= 4)
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == Exit(None, signal.SIGKILL, "killed", 0.0, 0)
        wait_until(lambda: not processes_with(marker))


def test_nothing_is_left_open(attack: Attack, running: Policy) -> None:
    attack(running, "exit", 0)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        attack(running, "exit", 0)
        with pytest.raises(SandboxError):
            run(["/nonexistent"], running)
    assert len(os.listdir("/proc/self/fd")) == before


def test_many_at_once(villain: Path, running: Policy) -> None:
    policy = running.with_limits(wall_seconds=0.5)
    hanging = [start([villain, "sleep"], policy) for _ in range(4)]
    others = [start([villain, "exit", str(code)], running) for code in range(16)]
    assert [each.wait().code for each in others] == list(range(16))
    assert [each.wait().limit for each in hanging] == ["wall"] * 4


def test_ctrl_c_is_the_judges_affair(villain: Path, running: Policy) -> None:
    with start([villain, "sleep"], running) as process:
        time.sleep(0.1)
        assert os.getsid(process.pid) == process.pid


def test_a_missing_program_is_our_error(running: Policy) -> None:
    with pytest.raises(SandboxError, match="exec /nonexistent: No such file"):
        run(["/nonexistent"], running)


def test_a_missing_path_is_our_error(scratch: Path) -> None:
    with pytest.raises(SandboxError, match="/nonexistent, which does not exist"):
        run([launcher()], run_policy(scratch, readable=[Path("/nonexistent")]))


def test_input_and_links(scratch: Path, tmp_path: Path) -> None:
    """A directory that is named by a symbolic link is there under both names."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").write_text("text\n")
    (tmp_path / "link").symlink_to("real")
    policy = compile_policy(scratch, readable=[tmp_path / "link"])
    paths = [tmp_path / "link" / "file", tmp_path / "real" / "file"]
    done = run([shutil.which("cat") or "cat", "-", *paths], policy, input=b"input\n")
    assert done.stdout == b"input\ntext\ntext\n", done


def test_nvcc_compiles_and_the_result_runs(scratch: Path, tmp_path: Path) -> None:
    """The whole way: the compiler in its sandbox, then the program in another one, talking to the simulated GPU."""
    import socket

    from evoengineer.sim import session
    from evoengineer.sim.cudart.library import SOCKET_VARIABLE, client_library
    from evoengineer.sim.options import DeviceOptions
    from evoengineer.toolchain.compilers import find_toolchain

    source, build = tmp_path / "source", tmp_path / "build"
    source.mkdir()
    build.mkdir()
    (source / "kernel.cu").write_text(KERNEL)
    tools = find_toolchain()
    flags = [*tools.flags, "-cudart=shared", "-arch=sm_89"]
    policy = compile_policy(build, readable=[source], compilers=[tools.nvcc, tools.host.command[0]])
    done = run([tools.nvcc, *flags, "-o", build / "program", source / "kernel.cu"], policy)
    assert done.exit.succeeded, done

    library = client_library()
    ours, theirs = socket.socketpair()
    server = session.start_server(ours, DeviceOptions(threads=1))
    ours.close()
    try:
        environment = {"LD_PRELOAD": str(library), SOCKET_VARIABLE: str(theirs.fileno())}
        policy = run_policy(scratch, readable=[build, library.parent], environment=environment)
        done = run([build / "program"], policy, pass_fds=[theirs.fileno()])
    finally:
        theirs.close()
        server.wait(10)
    assert (done.exit.code, done.stdout) == (0, b"0\n"), done


def test_a_secret_cannot_be_included(scratch: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hunter2")
    (scratch / "spy.cpp").write_text(f'#include "{tmp_path}/secret"\n')
    gxx = shutil.which("g++")
    if gxx is None:
        pytest.skip("no g++")
    done = run([gxx, "-c", scratch / "spy.cpp", "-o", scratch / "spy.o"], compile_policy(scratch))
    assert done.exit.code == 1
    assert b"hunter2" not in done.stderr


def test_an_endless_template_ends(scratch: Path) -> None:
    (scratch / "endless.cpp").write_text(
        "template <int N> struct A {\n"
        "  using L = typename A<2 * N>::T; using R = typename A<2 * N + 1>::T; struct T {}; };\n"
        "A<1>::T x;\n"
    )
    gxx = shutil.which("g++")
    if gxx is None:
        pytest.skip("no g++")
    policy = compile_policy(scratch).with_limits(wall_seconds=1.0)
    done = run([gxx, "-ftemplate-depth=1000000000", "-c", scratch / "endless.cpp"], policy)
    assert done.exit.limit in ("wall", "memory") or done.exit.code == 1


def wait_until(condition: object, seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return False
