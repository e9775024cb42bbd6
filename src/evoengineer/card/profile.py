"""A card's profile: the figures that the simulated GPU reports and that its timing model uses.

Who reads what:
- device properties, attributes and limits: the groups *identity*, *limits*, *memory* and *texture* below
  (units are in the names; `memory_clock_khz` and `clock_khz` are what CUDA reports, i.e. peak clocks);
- occupancy: *limits* with the allocation units (`register_unit`, `shared_unit`, `shared_reserved_bytes`);
- the timing model: *pipes*, *latencies* and *bandwidths*.

A profile is one TOML file in `profiles/`, whose `architecture` names a file in `profiles/architectures/`
with the figures that all cards of that compute capability share. The card's file wins. Each figure's
origin stands beside it there. This module owns loading; it computes nothing.
"""

import tomllib
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from evoengineer.errors import EvoEngineerError, UsageError, did_you_mean

_DIRECTORY = Path(__file__).parent / "profiles"
_HBM_BITS = 2048


@dataclass(frozen=True, slots=True)
class Profile:
    # identity
    key: str  # "rtx4090", the part after "sim:"
    name: str  # cudaDeviceProp.name
    chip: str
    architecture: str  # "sm_89"
    compute_capability: tuple[int, int]

    # limits, per SM and per block
    sm_count: int
    warp_size: int
    max_threads_per_block: int
    max_block_dim: tuple[int, int, int]
    max_grid_dim: tuple[int, int, int]
    max_threads_per_sm: int
    max_warps_per_sm: int
    max_blocks_per_sm: int
    registers_per_sm: int
    registers_per_block: int
    max_registers_per_thread: int
    register_unit: int  # registers are given out per warp in multiples of this
    shared_bytes_per_sm: int
    shared_bytes_per_block: int  # without opt-in
    shared_bytes_per_block_optin: int
    shared_reserved_bytes: int  # kept by the system in each block
    shared_unit: int  # shared memory is given out in multiples of this
    shared_carveouts_kib: tuple[int, ...]  # sizes that an SM's shared memory can be set to
    l1_shared_bytes_per_sm: int  # L1 data cache and shared memory together
    constant_bytes: int
    cluster_launch: bool

    # memory
    dram_bytes: int
    memory_clock_khz: int
    memory_bus_bits: int
    l2_bytes: int
    persisting_l2_bytes: int
    ecc: bool

    # texture
    texture_align_bytes: int
    texture_pitch_align_bytes: int
    surface_align_bytes: int

    # clocks and buses
    clock_khz: int  # boost clock
    base_clock_khz: int
    async_engines: int
    pcie_generation: int
    pcie_lanes: int

    # pipes: thread-level operations per clock and SM
    schedulers_per_sm: int  # each issues one warp instruction per clock
    fp32_per_clock: int
    fp64_per_clock: int
    fp16_per_clock: int  # half2 arithmetic counts as two
    int32_per_clock: int
    int32_multiply_per_clock: int
    shift_per_clock: int
    sfu_per_clock: int  # rcp, rsqrt, ex2, lg2, sin, cos
    convert_per_clock: int  # conversions from and to 64-bit and 8-bit types are slower
    lsu_per_clock: int  # load/store lanes
    shuffle_per_clock: int
    tensor_fp16_fma_per_clock: int  # dense, fp32 accumulation
    tensor_tf32_fma_per_clock: int  # 0: not available
    tensor_fp64_fma_per_clock: int
    tensor_fp8_fma_per_clock: int
    tensor_int8_fma_per_clock: int

    # latencies, in SM clocks
    alu_latency: int
    fp64_latency: int
    sfu_latency: int
    shared_latency: int
    l1_latency: int
    l2_latency: int
    dram_latency: int

    # bandwidths
    dram_bytes_per_second: int
    l2_bytes_per_clock: int  # whole card, in SM clocks
    l1_bytes_per_clock: int  # per SM
    shared_bytes_per_clock: int  # per SM
    l2_write_bytes: int  # that a write of less than a line costs, as if it were so many
    pcie_bytes_per_second: int
    launch_overhead_ns: int  # an empty kernel in a busy stream

    @property
    def device(self) -> str:
        """The name that users give: `sim:rtx4090`."""
        return f"sim:{self.key}"

    @property
    def hbm(self) -> bool:
        """Buses so wide are those of stacked memory."""
        return self.memory_bus_bits >= _HBM_BITS

    @property
    def dram_unit_bytes(self) -> int:
        """What DRAM delivers at a time. GDDR6: a channel of 16 bits, bursts of 16, so a sector (not looked up)."""
        return 64 if self.hbm else 32

    @property
    def sm(self) -> int:
        """Compute capability as PTX's targets write it: 89 for 8.9."""
        return 10 * self.compute_capability[0] + self.compute_capability[1]


@cache
def profile_names() -> tuple[str, ...]:
    """Keys of all profiles, in alphabetical order."""
    return tuple(sorted(path.stem for path in _DIRECTORY.glob("*.toml")))


@cache
def load_profile(key: str) -> Profile:
    """The profile `key`, e.g. `rtx4090`."""
    if key not in profile_names():
        raise unknown_device(f"sim:{key}")
    figures = _read(_DIRECTORY / f"{key}.toml")
    architecture = figures.get("architecture", "")
    shared = _read(_DIRECTORY / "architectures" / f"{architecture}.toml")
    return _build(key, {**shared, **figures})


def unknown_device(name: str) -> UsageError:
    """For a name that stands for no simulated card."""
    valid = [f"sim:{key}" for key in profile_names()]
    hint = did_you_mean(name.lower().removeprefix("sim:"), profile_names(), prefix="sim:")
    return UsageError(f"unknown device {name!r}{hint}; valid devices: {', '.join(valid)}")


def _read(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return tomllib.load(file)


def _build(key: str, figures: dict[str, Any]) -> Profile:
    """Check names and types, so that a typing error in a profile is found when it is loaded."""
    values: dict[str, Any] = {"key": key}
    for name, value in figures.items():
        values[name] = tuple(value) if isinstance(value, list) else value
    known = {field.name for field in fields(Profile)}
    for complaint, names in (
        ("unknown figures", values.keys() - known),
        ("missing figures", known - values.keys()),
    ):
        if names:
            raise EvoEngineerError(f"profile {key}: {complaint}: {', '.join(sorted(names))}")
    return Profile(**values)
