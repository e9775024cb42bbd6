"""Every method with a fake endpoint, the real judge and real kernels on the simulated GPU."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.search.runs import evolve

from evoengineer.judge import JudgeOptions, open_judge
from evoengineer.judge.pool import JudgePool
from evoengineer.problem.catalog import find_problem
from evoengineer.propose.endpoint import Endpoint, EndpointOptions
from evoengineer.propose.fake_endpoint import Answer, FakeEndpoint, by_number
from evoengineer.propose.fake_script import reply_text
from evoengineer.propose.prices import Model
from evoengineer.search.methods import method_names
from evoengineer.search.settings import Settings

PROBLEM = '''"""Twice a vector."""
import torch
from evoengineer.problem import Case, Distribution

cases = [Case.check(size=1), Case.check(size=1021), Case.check(size=33), Case.bench(size=1 << 16)]
distributions = (Distribution.NORMAL,)

def make_inputs(case, generator):
    return {"x": generator.values(case.size)}

def reference(x: torch.Tensor) -> torch.Tensor:
    return 2 * x
'''
KERNEL = """#include <torch/extension.h>
__global__ void twice(const float* x, float* y, int size) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x) y[i] = FACTOR * x[i];
}
torch::Tensor forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int size = x.numel();
    const int threads = THREADS;
    twice<<<BLOCKS, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), size);
    return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
"""


def kernel(threads: int, blocks: str = "(size + threads - 1) / threads", factor: str = "2.0f") -> str:
    return KERNEL.replace("THREADS", str(threads)).replace("BLOCKS", blocks).replace("FACTOR", factor)


def answer(name: str, code: str, **how: object) -> Answer:
    return Answer(reply_text(code, name, f"the idea of {name}"), **how)  # type: ignore[arg-type]


# Proposal by proposal; what the judge must say of each, and whether it is charged.
ANSWERS = [
    (answer("wide", kernel(256)), "valid"),
    (answer("typo", kernel(64).replace("y[i]", "z[i]")), "compile_error"),
    (answer("wide again", kernel(256) + "// the same\n"), "duplicate"),
    (answer("triple", kernel(128, factor="3.0f")), "wrong"),
    (answer("the same code", kernel(256).replace("int size", "const int size", 1)), "duplicate"),
    (answer("limited", kernel(512), faults=("429", "500", "cut"), retry_after="0.01"), "valid"),
    (Answer("I cannot do that."), "unparsable"),
    (answer("past the end", kernel(128).replace("i < size", "i < size + 8")), "memory_error"),
    (answer("few blocks", kernel(128, "64")), "valid"),
]
CHARGED = [outcome for _, outcome in ANSWERS if outcome != "duplicate"]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("twice")
    (folder / "problem.py").write_text(PROBLEM)
    (folder / "baseline.cu").write_text(kernel(32, "4"))
    return Settings(problem=str(folder), trials=len(CHARGED))


@pytest.fixture(scope="module")
def judge(settings: Settings) -> Iterator[JudgePool]:
    with open_judge(find_problem(settings.problem), JudgeOptions(run_seed=1)) as pool:
        yield pool


@pytest.mark.parametrize("method", method_names())
def test_every_method_on_the_simulated_gpu(
    method: str, settings: Settings, judge: JudgePool, tmp_path: Path
) -> None:
    from evoengineer.experiment.run import gather_task

    with FakeEndpoint(by_number([each for each, _ in ANSWERS])) as fake:
        proposer = Endpoint(Model("fake", "fake", None, "NONE", None), EndpointOptions(base_url=fake.url))
        done = evolve(
            tmp_path,
            proposer,
            method=method,
            trials=settings.trials,
            about=gather_task(settings),
            judge=judge,  # type: ignore[arg-type]
        )
        proposer.close()
    assert done.result.ending == "finished"
    assert [row[0] for row in done.rows("outcome", "trial > 0")] == CHARGED
    kinds = [(row[0], row[1]) for row in done.rows("number, kind", "number > 0")]
    duplicates = [number for number, (_, outcome) in enumerate(ANSWERS, 1) if outcome == "duplicate"]
    assert [number for number, kind in kinds if kind == "duplicate"] == duplicates
    assert done.loop.budget.trials.used == len(CHARGED)
    best = done.result.progress.best
    assert best is not None
    assert best.speedup is not None
    assert best.speedup > 1.5, "the baseline uses 4 blocks of 32 threads"
    assert set(done.result.progress.attempts) == {"rate_limited", "server_error", "disconnected"}
    first = fake.asks[0].user
    for part in (
        "NVIDIA GeForce RTX 4090",
        "x: float32 tensor [65536]",
        "return 2 * x",
        "us (simulated) on the bench case",
    ):
        assert part in first
