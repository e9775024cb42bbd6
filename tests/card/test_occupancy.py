"""CUDA's occupancy formula, against figures of NVIDIA's occupancy calculator."""

import pytest

from evoengineer.card.occupancy import KernelResources, blocks_per_multiprocessor, largest_block
from evoengineer.card.profile import load_profile


@pytest.mark.parametrize(
    "threads, registers, shared, blocks",
    [
        (1024, 32, 0, 1),  # 1536 threads per SM
        (768, 32, 0, 2),
        (256, 32, 0, 6),
        (32, 32, 0, 24),  # blocks
        (256, 64, 0, 4),  # registers: 8 warps × 64 × 32 of 65536
        (256, 128, 0, 2),
        (256, 255, 0, 1),
        (1024, 128, 0, 0),  # one block wants too many registers
        (256, 32, 48 << 10, 2),  # 49 KiB with the system's share
        (256, 32, 99 << 10, 1),
        (256, 32, 100 << 10, 0),
    ],
)
def test_rtx4090(threads: int, registers: int, shared: int, blocks: int) -> None:
    card = load_profile("rtx4090")
    assert blocks_per_multiprocessor(card, KernelResources(threads, shared, registers)) == blocks


def test_too_many_threads() -> None:
    assert blocks_per_multiprocessor(load_profile("rtx4090"), KernelResources(2048)) == 0


def test_registers_bound_the_block() -> None:
    """64 for each of 1024 threads are all there are."""
    card = load_profile("rtx4090")
    assert largest_block(card, 64) == 1024
    assert largest_block(card, 65) == 896
    assert largest_block(card, 255) == 256
