"""Bytes of spilled registers: what a cache has no room for goes to the next, in numbers that can be done by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evoengineer.card.profile import load_profile
from evoengineer.sim.timing.memory import kept_fraction
from evoengineer.sim.timing.ptxas import Resources
from evoengineer.sim.timing.shape import Shape
from evoengineer.sim.timing.spills import Spills, beyond_caches

CARD = replace(load_profile("rtx3090"), l2_bytes=6 << 20)  # 82 multiprocessors of 128 KB
SHAPE = Shape((82 * 6, 1, 1), (256, 1, 1), 0, Resources(40, 64, 32), CARD)  # six blocks each
MOVED = 1e9


def test_spills_that_l1_can_hold_go_no_further() -> None:
    assert SHAPE.resident == 6
    assert beyond_caches(MOVED, 16, 0, 0, SHAPE).l2 < MOVED / 1000  # 24 KB


def test_spills_that_l1_holds_in_part_go_to_l2_in_part() -> None:
    found = beyond_caches(MOVED, 64, 0, 0, SHAPE)  # 96 KB
    lost = 1 - kept_fraction(96, 128)
    assert found.l2 == pytest.approx(MOVED * lost)
    assert found.dram == pytest.approx(found.l2 * (1 - kept_fraction(82 * 96 * lost, 6144)))


def test_what_comes_through_l1_in_the_meantime_takes_their_place() -> None:
    found = beyond_caches(MOVED, 16, 64 << 10, 0, SHAPE)
    assert found.l2 == pytest.approx(MOVED)
    assert found.dram < MOVED / 100  # 82 times 24 KB


def test_what_l2_has_to_hold_besides_sends_them_to_dram() -> None:
    assert beyond_caches(MOVED, 16, 64 << 10, 18 << 20, SHAPE).dram == pytest.approx(MOVED, rel=1e-3)


def test_more_spills_never_move_fewer_bytes() -> None:
    before = Spills()
    for stored in range(0, 512, 8):
        found = beyond_caches(MOVED * stored, stored, 8 << 10, 2 << 20, SHAPE)
        assert found.l2 >= before.l2
        assert found.dram >= before.dram
        before = found
