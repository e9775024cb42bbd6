"""PyTorch's time on a simulated card: the calls that are seen, and the arithmetic."""

import pytest

from evoengineer.card.profile import load_profile
from evoengineer.judge.pytorch_estimate import LIBRARY_EFFICIENCY, estimate, estimates, rate

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
    found = estimates(["softmax", "matmul", "vector_add", "/etc/passwd", "no/such"], CARD)
    assert set(found) == {"softmax", "matmul", "vector_add"}
    eager, fused = found["vector_add"]
    assert eager == pytest.approx(fused, rel=0.01)  # one call, which is all there is
    assert all(0 < fused <= eager for eager, fused in found.values())
