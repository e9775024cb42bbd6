"""The part of judging on a real GPU that needs none: runner, guard bands, measuring loop, on the simulated runtime."""

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.judge.wrong_kernels import ADD, add

from evoengineer.judge import cuda_worker, measurement
from evoengineer.judge.cuda_worker import CudaWorker
from evoengineer.judge.examination import examine
from evoengineer.judge.failures import Rejected
from evoengineer.judge.on_cuda import CudaStage
from evoengineer.judge.options import JudgeOptions
from evoengineer.judge.reference.client import ReferenceProcess
from evoengineer.judge.runner.start import start_runner
from evoengineer.judge.worker import prepare
from evoengineer.kernel.build import Build, build_kernel
from evoengineer.problem.catalog import Description, find_problem
from evoengineer.sim.control import ControlledDevice
from evoengineer.sim.options import DeviceOptions

PROBLEM = '''"""Sum of two small vectors."""
from evoengineer.problem import Case
cases = [Case.check(n=1), Case.check(n=257), Case.check(n=1000), Case.bench(n=4096)]
def make_inputs(case, generator):
    return {"a": generator.values(case.n), "b": generator.values(case.n)}
def reference(a, b):
    return a + b
'''
OPTIONS = JudgeOptions()


@pytest.fixture(scope="module")
def reference() -> Iterator[ReferenceProcess]:
    process = ReferenceProcess()
    yield process
    process.close()


@pytest.fixture(scope="module")
def description(tmp_path_factory: pytest.TempPathFactory) -> Description:
    folder = tmp_path_factory.mktemp("problem")
    (folder / "problem.py").write_text(PROBLEM, encoding="utf-8")
    return find_problem(str(folder))


def built(source: str) -> Path:
    build = build_kernel(source, sm=89)
    assert isinstance(build, Build)
    return build.library


@contextmanager
def on_gpu(library: Path, reference: ReferenceProcess, scratch: Path) -> Iterator[CudaStage]:
    """As load_on_gpu does it, but with our libcudart in place of NVIDIA's."""
    with ControlledDevice(DeviceOptions(threads=1, host_bytes=2 << 30)) as device:
        device.mark()
        environment = device.client_environment()
        runner = start_runner(
            library, scratch, OPTIONS, environment, (Path(environment["LD_PRELOAD"]).parent,),
            memory=(reference.inputs_fd, reference.outputs_fd), pass_fds=(device.client_fd,),
        )  # fmt: skip
        with runner:
            stage = CudaStage(runner)
            stage.open(library)
            yield stage


def test_a_right_kernel_comes_through(
    reference: ReferenceProcess, description: Description, tmp_path: Path
) -> None:
    draws = prepare(reference, description, "kernel", 1)
    with on_gpu(built(add(ADD)), reference, tmp_path) as stage:
        examine(stage, reference, description.problem, draws)


@pytest.mark.parametrize(
    "change, outcome, evidence",
    [
        (("c[i] = a[i] + b[i]", "c[i] = a[i] - b[i]"), "wrong", "expected"),
        (("if (i < n) c", "if (i <= n) c"), "memory_error", "guard bands"),
        (("if (i < n)", "if (i < 3) c[i - 3] = 0; if (i < n)"), "memory_error", "before its edge"),
        (("if (i < n) c", "if (i < n - 1) c"), "wrong", "never written"),
        (("if (i < n)", "if (i < n) ((float*)a)[i] = 1; if (i < n)"), "memory_error", "input a|argument"),
    ],
)
def test_wrong_kernels_do_not(
    change: tuple[str, str], outcome: str, evidence: str,
    reference: ReferenceProcess, description: Description, tmp_path: Path,
) -> None:  # fmt: skip
    draws = prepare(reference, description, "kernel", 1)
    with (
        on_gpu(built(add(ADD.replace(*change))), reference, tmp_path) as stage,
        pytest.raises(Rejected) as rejected,
    ):
        examine(stage, reference, description.problem, draws)
    assert str(rejected.value.outcome) == outcome
    assert re.search(evidence, f"{rejected.value.summary}\n{rejected.value.evidence}")


def test_two_kernels_are_timed_against_each_other(
    reference: ReferenceProcess, description: Description, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measurement, "WARM_UP_SECONDS", 0.0)
    monkeypatch.setattr(measurement, "LEAST_REPETITIONS", 5)
    # Simulated events and the judge's clock have nothing to do with each other; test_measurement.py has this rule.
    monkeypatch.setattr(cuda_worker, "dishonest_times", lambda measured: None)
    worker = CudaWorker.__new__(CudaWorker)  # without the GPU that its start asks for
    worker._options, worker._run_seed, worker._reference = OPTIONS, 1, reference
    reference.load(description.problem)
    slow = add(ADD, launch="for (int k = 0; k < 4; k++) add<<<(n + 255) / 256, 256>>>(A, B, C, n);")
    for name in ("mine", "theirs"):
        (tmp_path / name).mkdir()
    with on_gpu(built(add(ADD)), reference, tmp_path / "mine") as mine, on_gpu(
        built(slow), reference, tmp_path / "theirs"
    ) as theirs:  # fmt: skip
        measured = worker.measure(description.problem, mine, theirs, "kernel")
    assert measured.repetitions >= 5
    assert measured.speedup > 1.5
    assert measured.baseline_us > measured.time_us > 0


# What a candidate may keep from one call to the next, in a process that it shares with the timer.
CACHES = {
    "by_call_count": "static int calls = 0; if (calls++ < 12) LAUNCH",
    "by_pointer": "static std::map<const float*, torch::Tensor> kept; auto& old = kept[A];"
    " if (old.defined() && old.numel() == n) return old; LAUNCH old = c;",
    "by_shape": "static std::map<int64_t, torch::Tensor> kept; auto& old = kept[n];"
    " if (old.defined()) return old; LAUNCH if (n >= 4096) old = c;",
    "nothing_once_warm": "static int calls = 0; if (calls++ < 30) LAUNCH else cudaMemsetAsync(C, 0, 4 * n);",
}


@pytest.mark.parametrize("name", CACHES)
def test_what_is_kept_between_timed_calls_is_caught(
    name: str,
    reference: ReferenceProcess,
    description: Description,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(measurement, "WARM_UP_SECONDS", 0.0)
    worker = CudaWorker.__new__(CudaWorker)
    worker._options, worker._run_seed, worker._reference = OPTIONS, random.randrange(1000), reference
    reference.load(description.problem)
    launch = CACHES[name].replace("LAUNCH", "add<<<(n + 255) / 256, 256>>>(A, B, C, n);")
    lazy = add(ADD, launch=launch).replace("#include", "#include <map>\n#include", 1)
    for folder in ("mine", "theirs"):
        (tmp_path / folder).mkdir()
    with on_gpu(built(lazy), reference, tmp_path / "mine") as mine, on_gpu(
        built(add(ADD)), reference, tmp_path / "theirs"
    ) as theirs, pytest.raises(Rejected) as rejected:  # fmt: skip
        worker.measure(description.problem, mine, theirs, "kernel")
    assert str(rejected.value.outcome) in ("wrong", "dishonest")
