"""The comparison with the noisy engineer: repeatable, and every method spends its trials."""

from __future__ import annotations

from pathlib import Path

from benchmarks.guided import Outcome, ablations, interval, run, table
from benchmarks.landscape import BOUNDS, Landscape, LandscapeJudge, text_of

from evoengineer.propose.noisy_engineer import Noise
from evoengineer.search.methods import find_method


def test_a_run_is_repeatable(tmp_path: Path) -> None:
    method, _ = find_method("guided")
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    first, second = (run(method, 3, 1, 20, Noise(), folder) for folder in folders)
    assert first == second
    assert first.log_speedup > 0


def test_the_landscape_has_trade_offs_and_faults() -> None:
    judge = LandscapeJudge(Landscape(1))
    start = dict.fromkeys(BOUNDS, 0)
    times = []
    for level in range(6):
        timing = judge.judge(text_of({**start, "dram": level})).result().timing
        assert timing is not None
        times.append(timing.time_us)
    assert len(set(times)) == 6
    assert judge.judge(text_of(start).replace("x[0]", "3.0f * (x[0])")).result().outcome == "wrong"
    built = judge.build("static const int noisy_fault = not_declared_anywhere;\n" + text_of(start)).result()
    assert built.verdict is not None
    assert built.verdict.outcome == "compile_error"


def test_ablations_lack_what_they_say() -> None:
    made = ablations()
    assert not any(part.key == "profile" for each in made["without profile"].cycle for part in each.guidance)
    assert not made["without repair"].repair
    assert not made["without credit"].adaptive


def test_intervals_are_paired() -> None:
    mean, low, high = interval([[0.1, 0.1], [0.1, 0.1]])
    assert mean == low == high
    worse, better = [[Outcome(0.5, 0.0)]] * 3, [[Outcome(0.6, 0.1)]] * 3
    assert "10.0 points (10.0 to 10.0) | 1.11 (1.11 to 1.11)" in table({"guided": better, "free": worse})
