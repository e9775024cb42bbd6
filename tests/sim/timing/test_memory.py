"""Which blocks are counted, what they stand for, and what a grid's footprints add up to."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evoengineer.sim.timing.counters import Footprint
from evoengineer.sim.timing.memory import Traffic, distinct_blocks, grid_traffic, kept_fraction
from evoengineer.sim.timing.sampling import choose_blocks, weigh_blocks

extents = st.tuples(st.integers(1, 200), st.integers(1, 60), st.integers(1, 9))


@settings(max_examples=60)
@given(extents, st.integers(1, 40))
def test_samples_are_few_distinct_and_hold_both_ends(grid: tuple[int, int, int], limit: int) -> None:
    total = grid[0] * grid[1] * grid[2]
    found = choose_blocks(grid, limit)
    assert len(found) == min(total, limit)
    assert list(found) == sorted(set(found))
    assert all(0 <= index < total for index in found)
    if limit > 1:
        assert 0 in found
        assert total - 1 in found


@settings(max_examples=20)
@given(st.integers(8, 24), st.integers(8, 18))
def test_samples_differ_in_every_bit_of_their_index(bits: int, limit: int) -> None:
    found = choose_blocks((1 << bits, 1, 1), limit)  # sorting networks idle every other group of blocks
    for bit in range(bits):
        assert 2 <= sum(index >> bit & 1 for index in found) <= len(found) - 2


@settings(max_examples=60)
@given(extents)
def test_weights_have_a_mean_of_one(grid: tuple[int, int, int]) -> None:
    samples = choose_blocks(grid, 12)
    weights = weigh_blocks(grid, samples)
    assert abs(sum(weights) / len(weights) - 1) < 1e-9
    assert all(weight > 0 for weight in weights)


def test_the_last_block_stands_for_itself_alone() -> None:
    samples = choose_blocks((1000, 1, 1), 10)
    weights = dict(zip(samples, weigh_blocks((1000, 1, 1), samples), strict=True))
    assert abs(weights[999] - 10 / 1000) < 1e-9


@settings(max_examples=30)
@given(extents, st.integers(1, 2000))
def test_distinct_footprints_against_a_plain_count(grid: tuple[int, int, int], run: int) -> None:
    run = min(run, grid[0] * grid[1] * grid[2])
    places = [(i % grid[0], i // grid[0] % grid[1], i // grid[0] // grid[1]) for i in range(run)]
    for along in [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]:
        plain = len({tuple(p * a for p, a in zip(place, along, strict=True)) for place in places})
        found = distinct_blocks((bool(along[0]), bool(along[1]), bool(along[2])), grid, run)
        assert plain / 2 <= found <= plain + 1e-9 or abs(found - plain) <= max(grid[0], 1)


def test_l2_keeps_what_fits() -> None:
    """Lines fall into sets of 16 by chance: a full cache has lost those of every set that more than 16 fell into."""
    assert kept_fraction(10, 100) == pytest.approx(1)
    assert kept_fraction(50, 100) == pytest.approx(0.992, abs=0.001)
    assert kept_fraction(100, 100) == pytest.approx(0.467, abs=0.001)
    assert kept_fraction(150, 100) == pytest.approx(0.034, abs=0.001)
    assert kept_fraction(1000, 100) == pytest.approx(0)
    assert kept_fraction(1e9, 100) == 0


def test_l2_never_keeps_more_of_more() -> None:
    kept = [kept_fraction(each, 100) for each in range(0, 400, 5)]
    assert kept == sorted(kept, reverse=True)


def _overlaps(prints: list[Footprint]) -> dict[tuple[int, int, int], int]:
    """Of footprints without gaps."""
    return {
        (p.allocation, p.sample, q.sample): max(min(p.high, q.high) - max(p.low, q.low), 0)
        for p in prints
        for q in prints
    }


def _traffic(
    prints: list[Footprint],
    samples: tuple[int, ...],
    weights: tuple[float, ...],
    grid: tuple[int, int, int],
    wave: int,
    l2_bytes: int,
    scale: float,
    resident: dict[int, float],
) -> Traffic:
    return grid_traffic(prints, samples, weights, grid, wave, l2_bytes, scale, resident, _overlaps(prints))


def _prints(move: int, size: int, samples: tuple[int, ...], written: bool = False) -> list[Footprint]:
    return [
        Footprint(i, 4096, 1 << 30, 4096 + move * b, 4096 + move * b + size, 0 if written else size,
                  size if written else 0, 1)
        for i, b in enumerate(samples)
    ]  # fmt: skip


def test_blocks_of_their_own_data_read_it_all() -> None:
    grid = (1000, 1, 1)
    samples = choose_blocks(grid, 12)
    traffic = _traffic(
        _prints(1024, 1024, samples), samples, weigh_blocks(grid, samples), grid, 100, 1 << 20, 1.0, {}
    )
    assert abs(traffic.dram_read - 1000 * 1024) < 1
    assert traffic.dram_share == 1
    assert traffic.pieces < 20  # neighbours' pieces join


def test_blocks_that_share_their_data_read_it_once() -> None:
    grid = (1000, 1, 1)
    samples = choose_blocks(grid, 12)
    traffic = _traffic(
        _prints(0, 65536, samples), samples, weigh_blocks(grid, samples), grid, 100, 1 << 20, 1.0, {}
    )
    assert abs(traffic.dram_read - 65536) < 1
    assert traffic.dram_share < 0.01
    assert traffic.far[4096] == pytest.approx(0.1)  # the blocks of the first of ten waves all wait for DRAM


def test_what_l2_holds_already_is_not_read_again() -> None:
    grid = (1000, 1, 1)
    samples = choose_blocks(grid, 12)
    weights = weigh_blocks(grid, samples)
    traffic = _traffic(_prints(1024, 1024, samples), samples, weights, grid, 100, 1 << 20, 1.0, {4096: 0.75})
    assert abs(traffic.dram_read - 256_000) < 1


def test_windows_that_overlap_count_once() -> None:
    grid = (1000, 1, 1)
    samples = choose_blocks(grid, 12)
    weights = weigh_blocks(grid, samples)
    traffic = _traffic(_prints(512, 1024, samples), samples, weights, grid, 100, 1 << 20, 1.0, {})
    assert abs(traffic.dram_read - 512_000) < 1


@pytest.mark.parametrize("seed", range(1, 9))
def test_neighbours_that_have_more_in_common_than_others_hide_no_traffic(seed: int) -> None:
    """Groups of four blocks that slide by a fifth of what they touch; the next group begins where this one ends."""
    grid = (4096, 1, 1)
    samples = choose_blocks(grid, 12, seed)
    unit = 1024
    prints = [
        Footprint(i, 4096, 1 << 30, low, low + 5 * unit, 5 * unit, 0, 1)
        for i, b in enumerate(samples)
        for low in [4096 + (b // 4 * 8 + b % 4) * unit]
    ]
    traffic = _traffic(prints, samples, weigh_blocks(grid, samples), grid, 512, 1 << 20, 1.0, {})
    assert traffic.dram_read > 0.95 * 1024 * 8 * unit


def test_blocks_that_range_over_a_small_part_of_an_allocation_read_it_once() -> None:
    grid = (1000, 1, 1)
    samples = choose_blocks(grid, 12)
    weights = weigh_blocks(grid, samples)
    region, each = 1 << 20, 65536
    prints = [
        Footprint(i, 4096, 1 << 30, 4096 + 32 * (b % 7), 4096 + region - 32 * (b % 5), each, 0, 1)
        for i, b in enumerate(samples)
    ]
    fits = _traffic(prints, samples, weights, grid, 100, 4 * region, 1.0, {})
    assert abs(fits.dram_read - region) < 100
    assert fits.far[4096] < 0.02  # all but the first find it in L2
    too_large = _traffic(prints, samples, weights, grid, 100, region // 4, 1.0, {})
    assert (
        abs(too_large.dram_read - region - 0.75 * (1000 * each - region)) < 1000
    )  # a quarter is found in L2


@given(st.integers(0, 1 << 32), st.integers(1, 200))
def test_blocks_at_the_end_that_do_nothing_hide_no_traffic(seed: int, idle: int) -> None:
    working, size = 4000, 1024
    grid = (working + idle, 1, 1)
    samples = choose_blocks(grid, 12, seed)
    prints = [
        Footprint(i, 4096, working * size, 4096 + size * b, 4096 + size * (b + 1), size, 0, 1)
        for i, b in enumerate(samples)
        if b < working
    ]
    # What the samples read on average is made to fit by the exact totals.
    weights = weigh_blocks(grid, samples)
    mean = sum(weights[p.sample] for p in prints) / len(samples)
    scale = working / (working + idle) / mean
    traffic = _traffic(prints, samples, weights, grid, 100, 1 << 20, scale, {})
    assert abs(traffic.dram_read - working * size) < 1
    assert traffic.reach[4096] == (4096, 4096 + working * size)


@given(st.integers(1, 1 << 32), st.sampled_from([7, 1001, 2503, 3999]))
def test_blocks_in_another_order_read_it_all(seed: int, step: int) -> None:
    grid = (4000, 1, 1)
    samples = choose_blocks(grid, 12, seed)
    size = 1024
    prints = [
        Footprint(i, 0, 4000 * size, size * (b * step % 4000), size * (b * step % 4000 + 1), 0, size, 1)
        for i, b in enumerate(samples)
    ]
    traffic = _traffic(prints, samples, weigh_blocks(grid, samples), grid, 100, 1 << 20, 1.0, {})
    assert abs(traffic.dram_written - 4000 * size) < 1


@given(st.integers(0, 1 << 32), st.sampled_from([2, 4, 16]))
def test_blocks_of_a_row_that_share_its_data_read_it_once_and_each_row_its_own(
    seed: int, together: int
) -> None:
    rows, size = 1000, 4096
    grid = (rows * together, 1, 1)
    samples = choose_blocks(grid, 12, seed)
    prints = [
        Footprint(i, 0, rows * size, size * (b // together), size * (b // together + 1), size, 0, 1)
        for i, b in enumerate(samples)
    ]
    traffic = _traffic(prints, samples, weigh_blocks(grid, samples), grid, 100, 1 << 24, 1.0, {})
    assert abs(traffic.dram_read - rows * size) < 1


@given(st.integers(0, 1 << 32))
def test_blocks_that_all_touch_both_ends_read_their_own_part_as_well(seed: int) -> None:
    grid, size = (4000, 1, 1), 1024
    samples = choose_blocks(grid, 12, seed)
    whole = 4000 * size
    prints = [Footprint(i, 0, whole, 0, whole, size + 64, 0, 3) for i in range(len(samples))]
    overlaps = {(0, i, j): size + 64 if i == j else 64 for i in range(12) for j in range(12)}
    traffic = grid_traffic(
        prints, samples, weigh_blocks(grid, samples), grid, 100, 1 << 20, 1.0, {}, overlaps
    )
    assert traffic.dram_read >= whole


def test_a_wave_of_blocks_fetches_no_byte_twice_however_they_are_numbered() -> None:
    """As in a product whose blocks lie in one row: every 32nd reads the same strip, and L2 holds less than all."""
    size, strips, blocks, wave = 1 << 20, 32, 1024, 256
    samples = choose_blocks((blocks, 1, 1), 12)
    weights = weigh_blocks((blocks, 1, 1), samples)
    prints = [
        Footprint(i, 0, strips * size, size * (b % strips), size * (b % strips + 1), size, 0, 1)
        for i, b in enumerate(samples)
    ]
    traffic = _traffic(prints, samples, weights, (blocks, 1, 1), wave, 16 << 20, 1.0, {})
    assert strips * size <= traffic.dram_read <= blocks // wave * strips * size
