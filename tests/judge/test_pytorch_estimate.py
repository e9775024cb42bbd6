"""PyTorch's time on a simulated card: the calls that are seen, and the arithmetic."""

from dataclasses import fields, replace
from pathlib import Path

import pytest

from evoengineer.card.name import DeviceName
from evoengineer.card.profile import load_profile
from evoengineer.judge.pytorch_estimate import LIBRARY_EFFICIENCY, estimate, estimates, rate
from evoengineer.judge.worker import simulated_timing, valid_verdict
from evoengineer.problem.catalog import find_problem
from evoengineer.sim.process.region import Region

CARD = load_profile("rtx4090")
BANDWIDTH = 1.008e12 * 0.92
LAUNCH_US = CARD.launch_overhead_ns / 1e3
FP32 = 2 * 128 * 128 * 2.52e9


def call(
    kind: str = "other", moved: float = 0.0, flops: float = 0.0, dtype: str = "float32"
) -> dict[str, object]:
    return {"name": "x", "kind": kind, "bytes": moved, "flops": flops, "dtype": dtype}


def test_eager_pays_for_every_call_and_fused_once() -> None:
    eager, fused = estimate([call(moved=BANDWIDTH * 1e-4)] * 3, round(BANDWIDTH * 1e-4), CARD)
    assert eager == pytest.approx(3 * (100 + LAUNCH_US))
    assert fused == pytest.approx(100 + LAUNCH_US, rel=1e-6)


def test_a_product_is_bound_by_arithmetic() -> None:
    assert rate(call("product"), CARD) == pytest.approx(FP32 * LIBRARY_EFFICIENCY)
    assert rate(call("convolution"), CARD) == pytest.approx(
        FP32 * LIBRARY_EFFICIENCY
    )  # TF32 is no faster on this card
    assert rate(call("product", dtype="float16"), CARD) == pytest.approx(2 * FP32 * LIBRARY_EFFICIENCY)
    assert rate(call("product", dtype="float64"), CARD) < FP32 / 10
    eager, fused = estimate([call("product", flops=FP32 * LIBRARY_EFFICIENCY * 1e-3)], 0, CARD)
    assert eager == fused == pytest.approx(1000 + LAUNCH_US)


def test_the_calls_of_shipped_references() -> None:
    pytest.importorskip("torch")
    names = {name: name for name in ("softmax", "matmul", "vector_add", "no/such")}
    found = estimates({**names, "passwd": "/etc/passwd"}, CARD)
    assert set(found) == {"softmax", "matmul", "vector_add"}
    eager, fused = found["vector_add"]
    assert eager == pytest.approx(fused, rel=0.01)  # one call, which is all there is
    assert all(0 < fused <= eager for eager, fused in found.values())


def test_files_are_run_only_when_that_was_asked_for(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    file = tmp_path / "softmax.py"  # a namesake of one that ships
    file.write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w')\n"
        "import torch\n"
        "class Model(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        return torch.relu(x) + x\n"
        "def get_inputs():\n"
        "    return [torch.randn(1024, 1024)]\n"
        "def get_init_inputs():\n"
        "    return []\n"
    )
    assert estimates({"softmax": str(file)}, CARD) == {}
    assert not (tmp_path / "ran").exists()
    eager, fused = estimates({"softmax": str(file)}, CARD, run_files=True)["softmax"]
    moved_us = 1024 * 1024 * 4 / BANDWIDTH * 1e6
    assert eager == pytest.approx(2 * LAUNCH_US + 5 * moved_us)  # x to y; y and x to z
    assert fused == pytest.approx(LAUNCH_US + 2 * moved_us)


def test_without_a_baseline_a_kernel_is_compared_with_the_estimate() -> None:
    pytest.importorskip("torch")
    description = find_problem("vector_add")
    region = replace(
        Region(**{each.name: 0 for each in fields(Region)}),  # type: ignore[arg-type]
        busy_ns=1e6, launches=(), failure=None, messages=(),
    )  # fmt: skip
    device = DeviceName.parse("sim:rtx4090")
    assert simulated_timing(description, region, device, None).pytorch_us is None
    alone = replace(description, problem=replace(description.problem, baseline=None))
    timing = simulated_timing(alone, region, device, None)
    assert timing.speedup is None
    assert (timing.pytorch_us, timing.pytorch_compiled_us) == estimates({"vector_add": "vector_add"}, CARD)[
        "vector_add"
    ]
    assert timing.pytorch_us is not None
    faster = f"{timing.pytorch_us / 1000:.3g}x PyTorch's speed, as estimated"
    assert valid_verdict(timing, 3).summary.endswith(faster)
