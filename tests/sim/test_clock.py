"""What copies and fills on the simulated card cost."""

from evoengineer.card.name import DEFAULT_DEVICE
from evoengineer.sim.process.clock import LEGACY_STREAM, Clock, Rows

CARD = DEFAULT_DEVICE.profile
ON_DEVICE = 3
A, B = 1 << 32, 1 << 33
PART = CARD.l2_bytes // 8


class Holding:
    """An L2 that holds this part of everything."""

    def __init__(self, part: float) -> None:
        self.part = part
        self.touched: list[tuple[int, int, int]] = []

    def touch(self, address: int, span: int, size: int) -> None:
        self.touched.append((address, span, size))

    def cached(self, address: int, span: int) -> float:
        return self.part

    def dirty(self, address: int, span: int) -> float:
        return self.part


def copied_ns(source: Rows, target: Rows, held: float = 0.0) -> float:
    clock = Clock(CARD, Holding(held))
    clock.copy(LEGACY_STREAM, ON_DEVICE, source, target)
    return clock.busy_ns()


def test_what_a_copy_reads_comes_from_dram_unless_l2_has_it() -> None:
    dram_ns = PART / CARD.dram_bytes_per_second * 1e9
    cold = copied_ns(Rows(A, PART), Rows(B, PART))
    assert cold > dram_ns > copied_ns(Rows(A, PART), Rows(B, PART), held=1.0)


def test_what_is_written_is_paid_for_once() -> None:
    """Or a result that is cleared first would be written for nothing: who finds it dirty does not pay."""
    dram_ns = PART / CARD.dram_bytes_per_second * 1e9

    def filled_ns(dirty: float) -> float:
        clock = Clock(CARD, Holding(dirty))
        clock.fill(LEGACY_STREAM, Rows(A, PART))
        return clock.busy_ns()

    assert filled_ns(0.0) > dram_ns > filled_ns(1.0)
    assert copied_ns(Rows(A, PART), Rows(B, PART)) > 2 * dram_ns


def test_narrow_columns_move_whole_sectors() -> None:
    rows = PART // 4
    column = copied_ns(Rows(A, 4, rows, 4096), Rows(B, 4, rows, 4))
    assert column > 4 * copied_ns(
        Rows(A, PART), Rows(B, PART)
    )  # eight sectors are read for one that is written
    assert column < 5 * copied_ns(Rows(A, PART), Rows(B, PART))


def test_rows_that_follow_one_another_are_one_piece() -> None:
    assert copied_ns(Rows(A, 128, PART // 128, 128), Rows(B, 128, PART // 128, 128)) == copied_ns(
        Rows(A, PART), Rows(B, PART)
    )


def test_l2_is_told_what_was_written() -> None:
    l2 = Holding(0.0)
    clock = Clock(CARD, l2)
    clock.fill(LEGACY_STREAM, Rows(A, 4, 100, 4096))
    clock.copy(LEGACY_STREAM, ON_DEVICE, Rows(A, 64), Rows(B, 64))
    assert l2.touched == [(A, 99 * 4096 + 4, 400), (B, 64, 64)]
