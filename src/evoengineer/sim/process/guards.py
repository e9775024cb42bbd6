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
from evoengineer.sim.wire.protocol import CudaError

MOST_PARAMETER_BYTES = 32764
MOST_HANDLES = 1 << 20  # streams, events, registered ranges
MOST_ALLOCATIONS = 1 << 20

Extent = tuple[int, int, int]


def launch_problem(
    profile: Profile, kernel: KernelInfo, grid: Extent, block: Extent, shared_bytes: int, params: int
) -> int:
    """0, or the CUDA error that these sizes are."""
    sizes = zip((*grid, *block), (*profile.max_grid_dim, *profile.max_block_dim), strict=True)
    if any(not 1 <= size <= most for size, most in sizes):
        return CudaError.INVALID_CONFIGURATION
    if block[0] * block[1] * block[2] > min(kernel.max_threads, profile.max_threads_per_block):
        return CudaError.INVALID_CONFIGURATION
    if kernel.static_shared_bytes + shared_bytes > profile.shared_bytes_per_block_optin:
        return CudaError.INVALID_VALUE
    if not kernel.param_bytes <= params <= MOST_PARAMETER_BYTES:
        return CudaError.INVALID_VALUE
    return 0


def cooperative_problem(profile: Profile, grid: Extent, block: Extent) -> int:
    """All blocks of a cooperative launch must fit on the card at once."""
    blocks, threads = grid[0] * grid[1] * grid[2], block[0] * block[1] * block[2]
    room = profile.sm_count * max(profile.max_threads_per_sm // threads, 1)
    return CudaError.COOPERATIVE_TOO_LARGE if blocks > room else 0


@contextmanager
def deadline(seconds: float, doing: str) -> Iterator[None]:
    """Give up on code that takes too long to read or translate (0: never). Calls into LLVM are waited for."""
    if seconds <= 0 or threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(number: int, frame: FrameType | None) -> None:
        raise DeviceError(
            f"{doing} takes more than {seconds:g} seconds", code=CudaError.TIMEOUT, kind="wall_limit"
        )

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
