"""The model function: more work never takes less time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evoengineer.card.profile import load_profile
from evoengineer.sim.timing.light import speed_of_light_us
from evoengineer.sim.timing.model import CONSTANTS, Phase, Work, asking, independent, norm, predict, whole

CARD = load_profile("rtx4090")
EPSILON = 1 + 1e-9
amounts = st.floats(0, 1e9, allow_nan=False)
clocks = st.floats(0, 1e6, allow_nan=False)
factors = st.floats(1, 100, allow_nan=False)
phases = st.tuples(clocks, clocks).map(lambda pair: Phase(*pair))


@st.composite
def works(draw: st.DrawFn) -> Work:
    parts = tuple(draw(st.lists(phases, min_size=1, max_size=4)))
    busiest = sum(part.demand for part in parts)
    return Work(
        draw(st.integers(1, 1_000_000)),
        draw(st.integers(1, 24)),
        parts,
        {"lsu": busiest, "alu": draw(st.floats(0, 1)) * busiest},
        draw(amounts),
        draw(amounts),
        draw(amounts),
        draw(st.floats(0, 1e6)),
        draw(st.floats(0, 1e6)),
        draw(st.floats(0, 1e6)),
    )


@settings(max_examples=100)
@given(works(), factors)
def test_more_bytes_never_make_it_faster(work: Work, factor: float) -> None:
    base = predict(work, CARD).time_ns
    for name in ("l2_bytes", "dram_read", "dram_written", "dram_pieces", "dram_visits", "atomic_clocks"):
        more = replace(work, **{name: getattr(work, name) * factor + 1})
        assert predict(more, CARD).time_ns * EPSILON >= base, name


@settings(max_examples=100)
@given(works(), st.integers(1, 24))
def test_lower_occupancy_never_makes_it_faster(work: Work, resident: int) -> None:
    fewer = replace(work, resident=min(work.resident, resident))
    assert predict(fewer, CARD).time_ns * EPSILON >= predict(work, CARD).time_ns


@settings(max_examples=100)
@given(works(), factors)
def test_more_conflicts_never_make_it_faster(work: Work, factor: float) -> None:
    """Conflicts lengthen the busiest pipe's use and the demand of the phases alike."""
    slower = replace(
        work,
        phases=tuple(Phase(p.latency * factor, p.demand * factor) for p in work.phases),
        pipes={name: value * factor for name, value in work.pipes.items()},
    )
    assert predict(slower, CARD).time_ns * EPSILON >= predict(work, CARD).time_ns


@settings(max_examples=100)
@given(works(), st.integers(1, 1000))
def test_more_blocks_never_make_it_faster(work: Work, more: int) -> None:
    larger = replace(work, blocks=work.blocks + more)
    assert predict(larger, CARD).time_ns * EPSILON >= predict(work, CARD).time_ns


@settings(max_examples=100)
@given(works())
def test_shares_sum_to_one_and_name_the_bound(work: Work) -> None:
    found = predict(work, CARD)
    assert abs(sum(found.shares.values()) - 1) < 1e-6
    assert found.shares[found.bound] == max(found.shares.values())


def test_norm_lies_between_the_largest_and_the_sum() -> None:
    assert norm(5, 3.0, 4.0) < 7
    assert norm(5, 3.0, 4.0) > 4
    assert norm(5, 2.0, 0.0) == 2
    assert norm(5) == 0


def test_rounds_are_whole_when_there_are_few() -> None:
    assert [whole(x) for x in (0.1, 1.0, 1.01, 8.0)] == [1, 1, 2, 8]
    assert whole(100.2) == 100.7


def test_a_full_wave_takes_as_long_as_a_single_block_on_each_multiprocessor() -> None:
    one = Work(CARD.sm_count, 4, (Phase(10_000.0, 10.0),), {"lsu": 10.0}, 0, 0, 0, 0, 0, 0)
    full = replace(one, blocks=4 * CARD.sm_count)
    assert predict(full, CARD).time_ns < 1.01 * predict(one, CARD).time_ns
    over = replace(one, blocks=4 * CARD.sm_count + 1)
    assert predict(over, CARD).rounds == 2


def test_the_warps_of_a_block_that_is_alone_begin_together() -> None:
    """They wait for their first data at the same time: with nothing else to do in between, waiting and work add up."""
    short = Phase(1000.0, 850.0, 0.0)
    assert independent(32, [short], CARD) == 1
    alone = Work(CARD.sm_count, 1, (short,), {"alu": 850.0}, 0, 0, 0, 0, 0, 0, contexts=1.0, warps=32)
    start = CONSTANTS.start_ns + CONSTANTS.block_start_clocks / 2.52
    assert predict(alone, CARD).time_ns == pytest.approx(start + 1000 * 2**0.5 / 2.52, rel=0.01)


def test_warps_drift_apart_on_a_long_way_and_meet_again_at_barriers() -> None:
    meeting = CONSTANTS.drift * CARD.dram_latency
    assert independent(32, [Phase(2 * meeting, 0.0, 0.0)], CARD) == pytest.approx(32**0.5)
    assert independent(32, [Phase(2 * meeting, 0.0, 1.0)], CARD) == pytest.approx(32**0.5)
    assert independent(32, [Phase(2 * meeting, 0.0, 2.0)], CARD) == 1


def test_what_multiprocessors_share_is_asked_for_in_turn_once_they_are_out_of_step() -> None:
    assert asking(4.0, 0.5, CARD) == asking(4.0, 1.0, CARD) == 4
    assert asking(4.0, 10.0, CARD) == 40
    work = Work(
        CARD.sm_count, 1, (Phase(3e6, 0.0),), {"lsu": 1.0}, 0, 1.1e9, 0, 0, 0, 0, contexts=1.0, askers=1.0
    )
    apart = replace(work, askers=1e9)
    assert predict(apart, CARD).time_ns < 0.9 * predict(work, CARD).time_ns
    assert predict(apart, CARD).time_ns > max(predict(apart, CARD).terms.values())


def test_speed_of_light() -> None:
    assert speed_of_light_us(1.008e9, 0, CARD) == 1000.0
    peak = 2 * 128 * 128 * 2.52e9  # two operations, 128 lanes, 128 multiprocessors, boost clock
    assert abs(speed_of_light_us(0, peak, CARD) - 1e6) < 1e-6
    assert speed_of_light_us(0, peak, CARD, "float16") < speed_of_light_us(0, peak, CARD)
    assert speed_of_light_us(0, peak, CARD, "float64") > speed_of_light_us(0, peak, CARD)
