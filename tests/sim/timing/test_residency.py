"""What L2 holds from launch to launch."""

import pytest

from evoengineer.sim.timing.residency import Residency, Stretch

MEGABYTE = 1 << 20


def held(residency: Residency, wanted: Stretch) -> float:
    return residency.fractions({0: wanted})[0][0]


def test_what_was_touched_is_there() -> None:
    residency = Residency(64 * MEGABYTE)
    whole = Stretch(0, 8 * MEGABYTE, 8.0 * MEGABYTE, 1.0)
    residency.touch({0: whole})
    assert residency.fractions({0: whole})[0] == pytest.approx((1.0, 1.0))
    assert held(residency, Stretch(0, 16 * MEGABYTE, 16.0 * MEGABYTE)) == pytest.approx(0.5, abs=1e-4)


@pytest.mark.parametrize("share", [0.5, 0.25])
def test_the_other_lines_of_a_stretch_are_not_taken_for_there(share: float) -> None:
    """A launch on every second line found half of them there, if one on those between had run before."""
    residency = Residency(64 * MEGABYTE)
    some = Stretch(0, 8 * MEGABYTE, share * 8 * MEGABYTE, 1.0)
    residency.touch({0: some})
    assert residency.fractions({0: some})[0] == (0.0, 0.0)
    assert held(residency, Stretch(0, 8 * MEGABYTE, 8.0 * MEGABYTE)) == pytest.approx(share)


def test_a_part_of_what_is_there_is_there() -> None:
    residency = Residency(64 * MEGABYTE)
    residency.touch({0: Stretch(0, 8 * MEGABYTE, 8.0 * MEGABYTE)})
    assert held(residency, Stretch(0, 8 * MEGABYTE, 2.0 * MEGABYTE)) == pytest.approx(1.0)


def test_a_line_of_which_a_sector_was_touched_is_not_there_as_a_whole() -> None:
    """It takes up its room all the same. Only who repeats a launch finds what it has touched."""
    residency = Residency(64 * MEGABYTE)
    columns = Stretch(0, 16 * MEGABYTE, 4.0 * MEGABYTE, spread=4.0, pattern="columns")
    residency.touch({0: columns})
    assert held(residency, Stretch(0, 16 * MEGABYTE, 16.0 * MEGABYTE)) == pytest.approx(0.25, rel=1e-3)
    assert held(residency, columns) == pytest.approx(1.0, rel=1e-3)
    assert held(residency, Stretch(0, 16 * MEGABYTE, 4.0 * MEGABYTE, spread=4.0, pattern="others")) == 0.0
    residency.touch({1: Stretch(0, 60 * MEGABYTE, 60.0 * MEGABYTE)})
    assert held(residency, columns) == 0.0
