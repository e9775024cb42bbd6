"""A real Ray cluster of three nodes on this machine, a toy problem, and a recording to search with."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray")
from ray._private import services
from ray.cluster_utils import Cluster

from evoengineer.propose.fake_script import reply_text
from evoengineer.propose.protocol import Reply, Usage
from evoengineer.propose.recording import FORMAT

WAIT_SECONDS = 300  # for what takes a few; a busy machine takes longer
# A node that is killed is noticed within seconds instead of half a minute.
QUICK_HEALTH = {
    "health_check_initial_delay_ms": 1000,
    "health_check_period_ms": 1000,
    "health_check_failure_threshold": 5,
}

PROBLEM = '''"""Twice a vector."""
import os
import time
from pathlib import Path

import torch
from evoengineer.problem import Case, Distribution

cases = [Case.check(size=1), Case.check(size=33), Case.check(size=257), Case.bench(size=4096)]
distributions = (Distribution.NORMAL,)

def make_inputs(case, generator):
    signals = Path(SIGNALS)
    for _ in range(3000):  # a judge stays here while the file is there
        if not (signals / "wait").exists():
            break
        time.sleep(0.1)
    if (signals / "kill").exists():
        os.kill(os.getppid(), 9)  # the judge, whose child computes references
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
    twice<<<BLOCKS, THREADS>>>(x.data_ptr<float>(), y.data_ptr<float>(), size);
    return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
"""


def kernel(threads: int, blocks: int = 4, factor: str = "2.0f") -> str:
    return KERNEL.replace("THREADS", str(threads)).replace("BLOCKS", str(blocks)).replace("FACTOR", factor)


# What a model answers, proposal by proposal; the last ones make up for the duplicates.
ANSWERS = (
    reply_text(kernel(256), "wide", "more threads"),
    reply_text(kernel(64).replace("y[i]", "z[i]"), "typo", "fewer threads"),
    reply_text(kernel(256) + "// the same\n", "wide again", "the same once more"),
    reply_text(kernel(128, factor="3.0f"), "triple", "a larger factor"),
    reply_text(kernel(128).replace("i < size", "i < size + 8"), "past the end", "a few more elements"),
    "I cannot do that.",
    reply_text(kernel(512, 2), "few blocks", "fewer blocks"),
    reply_text(kernel(128, 8), "more blocks", "more blocks"),
)
TRIALS = len(ANSWERS) - 1


def write_recording(path: Path) -> Path:
    entries = [
        {
            "number": number,
            "prompt": "",
            "occurrence": 0,
            "reply": asdict(Reply(text, "toy", Usage(1, 1, 0, 0))),
        }
        for number, text in enumerate(ANSWERS, 1)
    ]
    path.write_text("".join(json.dumps(entry) + "\n" for entry in (FORMAT, *entries)))
    return path


def write_problem(folder: Path, signals: Path, *, baseline: bool = True) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "problem.py").write_text(PROBLEM.replace("SIGNALS", repr(str(signals))))
    if baseline:
        (folder / "baseline.cu").write_text(kernel(32))
    return folder


def until(condition: Callable[[], Any]) -> Any:
    """What the condition gives once it is true."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not (found := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.1)
    return found


def add_node(cluster: Cluster, **how: Any) -> Any:
    """Ray gives a node half a minute to appear; a busy machine takes longer."""
    look = services.get_node

    def patient(*arguments: Any) -> Any:
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                return look(*arguments)
            except RuntimeError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    services.get_node = patient
    try:
        node = cluster.add_node(wait=False, **how)
    finally:
        services.get_node = look
    cluster.wait_for_nodes(timeout=WAIT_SECONDS)
    return node


@contextmanager
def three_nodes() -> Iterator[Cluster]:
    """Two cores each: a judge and a build at a time."""
    folder = tempfile.mkdtemp(prefix="evo-ray-test-", dir="/tmp")
    head = {"num_cpus": 2, "include_dashboard": False, "temp_dir": folder, "_system_config": QUICK_HEALTH}
    cluster = Cluster()
    try:
        Path("/tmp/ray").mkdir(
            exist_ok=True
        )  # Ray notes the address of a new cluster there, wherever that lies
        add_node(cluster, **head)
        for _ in range(2):
            add_node(cluster, num_cpus=2)
        yield cluster
    finally:
        cluster.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with three_nodes() as made:
        yield made


@pytest.fixture
def signals(tmp_path: Path) -> Path:
    folder = tmp_path / "signals"
    folder.mkdir()
    return folder


@pytest.fixture
def problem(tmp_path: Path, signals: Path) -> Path:
    return write_problem(tmp_path / "twice", signals)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return write_recording(tmp_path / "answers.jsonl")
