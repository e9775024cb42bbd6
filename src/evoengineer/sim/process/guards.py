"""What a client may ask for: sizes of launches, and memory for them. Refusals are CUDA's own error numbers.

Everything here holds whatever the client says: our libcudart checks the same before it sends a command, but
a client need not be our libcudart.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from evoengineer.card.profile import Profile
from evoengineer.errors import DeviceError
from evoengineer.sim.engine.modules import KernelInfo

INVALID_VALUE, INVALID_CONFIGURATION, COOPERATIVE_TOO_LARGE = 1, 9, 720  # cudaError
MOST_PARAMETER_BYTES = 32764
MOST_HANDLES = 1 << 20  # streams, events, registered ranges
MOST_ALLOCATIONS = 1 << 20
_BLOCK_LIMITS = (1024, 1024, 64)
_GRID_LIMITS = ((1 << 31) - 1, 65535, 65535)

Extent = tuple[int, int, int]


def launch_problem(
    profile: Profile, kernel: KernelInfo, grid: Extent, block: Extent, shared_bytes: int, params: int
) -> int:
    """0, or the CUDA error that these sizes are."""
    if any(not 1 <= size <= most for size, most in zip(grid, _GRID_LIMITS, strict=True)):
        return INVALID_CONFIGURATION
    if any(not 1 <= size <= most for size, most in zip(block, _BLOCK_LIMITS, strict=True)):
        return INVALID_CONFIGURATION
    if block[0] * block[1] * block[2] > min(kernel.max_threads, profile.max_threads_per_block):
        return INVALID_CONFIGURATION
    if kernel.static_shared_bytes + shared_bytes > profile.shared_bytes_per_block_optin:
        return INVALID_VALUE
    if not kernel.param_bytes <= params <= MOST_PARAMETER_BYTES:
        return INVALID_VALUE
    return 0


def cooperative_problem(profile: Profile, grid: Extent, block: Extent) -> int:
    """All blocks of a cooperative launch must fit on the card at once."""
    blocks, threads = grid[0] * grid[1] * grid[2], block[0] * block[1] * block[2]
    room = profile.sm_count * max(profile.max_threads_per_sm // threads, 1)
    return COOPERATIVE_TOO_LARGE if blocks > room else 0


@contextmanager
def deadline(seconds: float, doing: str) -> Iterator[None]:
    """Give up on code that takes too long to read or translate (0: never). Calls into LLVM are waited for."""
    if seconds <= 0 or threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(number: int, frame: FrameType | None) -> None:
        raise DeviceError(f"{doing} takes more than {seconds:g} seconds", code=702, kind="wall_limit")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
