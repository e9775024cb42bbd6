"""CUDA's occupancy calculation: how many blocks of a kernel fit on one multiprocessor.

Four limits: blocks, threads (warps), registers and shared memory; the smallest wins. Registers are given out
per warp in units, shared memory per block in units plus a system share. Nothing here depends on the simulator.
"""

from dataclasses import dataclass

from evoengineer.card.profile import Profile

DEFAULT_REGISTERS = 32  # per thread, when no figure of ptxas is at hand


@dataclass(frozen=True, slots=True)
class KernelResources:
    threads_per_block: int
    shared_bytes: int = 0  # static and dynamic
    registers_per_thread: int = DEFAULT_REGISTERS


def blocks_per_multiprocessor(profile: Profile, kernel: KernelResources) -> int:
    """0 when a block does not fit at all."""
    return min(occupancy_limits(profile, kernel).values())


def largest_block(profile: Profile, registers_per_thread: int) -> int:
    """Threads of the largest block that can start: its registers must be there, whatever else fits beside it."""
    per_warp = _ceil(registers_per_thread * profile.warp_size, profile.register_unit) * profile.register_unit
    warps = profile.registers_per_block // per_warp if per_warp else profile.max_threads_per_block
    return min(warps * profile.warp_size, profile.max_threads_per_block)


def occupancy_limits(profile: Profile, kernel: KernelResources) -> dict[str, int]:
    """How many blocks each resource has room for; 0 where a single block is too large."""
    warps = _ceil(kernel.threads_per_block, profile.warp_size)
    if not 0 < kernel.threads_per_block <= profile.max_threads_per_block:
        return {"threads": 0}
    limits = {"blocks": profile.max_blocks_per_sm, "threads": profile.max_warps_per_sm // warps}
    registers = kernel.registers_per_thread or DEFAULT_REGISTERS
    per_warp = _ceil(registers * profile.warp_size, profile.register_unit) * profile.register_unit
    # Each scheduler owns an equal part of the register file, and a warp lives in one of them.
    warps_that_fit = (
        profile.registers_per_sm // profile.schedulers_per_sm // per_warp * profile.schedulers_per_sm
    )
    too_many = warps * per_warp > profile.registers_per_block
    limits["registers"] = 0 if too_many else warps_that_fit // warps
    shared = kernel.shared_bytes + profile.shared_reserved_bytes
    if kernel.shared_bytes > profile.shared_bytes_per_block_optin:
        limits["shared memory"] = 0
    elif shared:
        shared = _ceil(shared, profile.shared_unit) * profile.shared_unit
        limits["shared memory"] = profile.shared_bytes_per_sm // shared
    return limits


def _ceil(value: int, unit: int) -> int:
    return -(-value // unit)
