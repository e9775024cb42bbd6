"""In which order blocks run when nobody is to know, and in which of them races are looked for."""

from itertools import pairwise

import pytest

from evoengineer.sim.engine.order import delayed, drawn, spots


@pytest.mark.parametrize("blocks", [1, 2, 7, 64, 1000])
def test_every_block_runs_once(blocks: int) -> None:
    for seed in ("a", "b"):
        assert sorted(drawn(blocks, seed)) == list(range(blocks))
        assert sorted(delayed(blocks, 512, seed)) == list(range(blocks))


def test_the_order_is_another_for_every_seed() -> None:
    assert drawn(1000, "a") == drawn(1000, "a") != drawn(1000, "b")
    assert delayed(1000, 512, "a") == delayed(1000, 512, "a") != delayed(1000, 512, "b")


def test_blocks_that_come_late_could_be_on_the_card_with_those_before_them() -> None:
    """Whoever waits for a block that a card has not started waits for ever."""
    for seed in map(str, range(20)):
        order = delayed(5000, 8, seed)
        started = {block: place for place, block in enumerate(order)}
        assert all(abs(started[block] - block) < 2 * 8 for block in range(5000))
        assert sum(earlier > later for earlier, later in pairwise(order)) >= 8


def test_the_last_block_never_knows_that_all_others_are_done() -> None:
    assert all(delayed(512, 512, str(seed))[-1] != 511 for seed in range(50))


def test_one_block_at_a_time_has_one_order() -> None:
    assert delayed(100, 1, "a") == list(range(100))


def test_spots_are_none_of_those_that_are_counted() -> None:
    for seed in range(20):
        found = spots((10, 10, 1), 24, seed, range(0, 100, 2))
        assert len(set(found)) == len(found) == 24
        assert all(block % 2 for block in found)
    assert spots((5, 1, 1), 24, 1, (0, 4)) == (1, 2, 3)
