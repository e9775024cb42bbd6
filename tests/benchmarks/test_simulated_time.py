"""The scores of simulated time: what a rank correlation is worth, and which pairs count as wrong."""

import dataclasses
from pathlib import Path

import pytest
from benchmarks.chains import Chain, load
from benchmarks.simulated_time import Point, Result, fingerprint, kept_result, spearman

from benchmarks import simulated_time


def test_a_prediction_that_orders_nothing_scores_nothing() -> None:
    assert spearman([1, 2, 3], [7, 7, 7]) == 0
    assert spearman([5, 5, 5], [1, 2, 3]) == 0


def test_orders_score_by_how_far_they_agree() -> None:
    assert spearman([1, 2, 3, 4], [10, 20, 30, 40]) == pytest.approx(1)
    assert spearman([1, 2, 3, 4], [4, 3, 2, 1]) == pytest.approx(-1)
    # one swap of neighbours among four: 1 - 6 * 2 / (4 * 15)
    assert spearman([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(0.8)
    assert spearman([1, 2, 2, 4], [1, 2, 3, 4]) == pytest.approx(0.9486833)  # ties share their mean rank


def test_only_pairs_that_differ_by_half_count_as_wrong() -> None:
    variant = load()[0].variants[0]
    measured = [dataclasses.replace(variant, measured_us=us) for us in (100.0, 140.0, 200.0)]
    result = Result(load()[0], tuple(Point(v, us) for v, us in zip(measured, (3.0, 2.0, 1.0), strict=True)))
    assert [(slow.variant.measured_us, fast.variant.measured_us) for slow, fast in result.wrong_pairs] == [
        (200.0, 100.0)
    ]
    assert result.points[0].error == pytest.approx(100 / 3 - 1)


def test_a_run_in_parts_predicts_each_chain_once_per_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = load()[0]
    runs: list[str] = []

    def run(chain: Chain, scratch: Path) -> Result:
        runs.append(chain.name)
        points = tuple(Point(v, 2 * v.measured_us) for v in chain.variants)
        return Result(chain, points)

    monkeypatch.setattr(simulated_time, "run_chain", run)
    first = kept_result(chain, tmp_path / "kept", tmp_path)
    assert kept_result(chain, tmp_path / "kept", tmp_path) == first
    assert runs == [chain.name]
    other = dataclasses.replace(chain, note="measured anew")
    assert fingerprint(other) != fingerprint(chain)
    kept_result(other, tmp_path / "kept", tmp_path)
    assert len(runs) == 2
