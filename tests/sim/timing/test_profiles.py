"""Counters, caches and times of kernels whose answers can be worked out by hand."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evoengineer.card.name import DeviceName
from evoengineer.card.profile import load_profile
from evoengineer.errors import DeviceError
from evoengineer.sim.engine.engine import Engine, LaunchResult
from evoengineer.sim.options import DeviceOptions, Limits
from evoengineer.sim.runtime import structs
from evoengineer.sim.timing.explain import bound_name, explain, short_name
from evoengineer.sim.timing.model import CONSTANTS
from evoengineer.sim.timing.profile import BOUND_KINDS, Finding, FindingKind, LaunchProfile
from evoengineer.sim.timing.ptxas import Resources
from evoengineer.sim.timing.shape import Shape
from evoengineer.toolchain.compilers import find_toolchain

SOURCE = Path(__file__).with_name("kernels.cu")
CARD = load_profile("rtx4090")
MIB = 1 << 20
Launch = Callable[..., LaunchProfile]


@pytest.fixture(scope="session")
def ptx(tmp_path_factory: pytest.TempPathFactory) -> str:
    toolchain = find_toolchain()
    output = tmp_path_factory.mktemp("timing") / "kernels.ptx"
    command = [str(toolchain.nvcc), *toolchain.flags, "-arch=compute_89", "-lineinfo", "-ptx", str(SOURCE)]
    subprocess.run([*command, "-o", str(output)], check=True)
    return output.read_text()


class Bench:
    """An engine of its own with one module, and buffers by size."""

    def __init__(self, ptx: str, **options: Any) -> None:
        self.engine = Engine(DeviceOptions(**{"threads": 2, **options}))
        self.module = self.engine.load_module([ptx])

    def buffer(self, size: int) -> int:
        return self.engine.memory.allocate(structs.DEVICE, size)

    def run(
        self, kernel: str, grid: tuple[int, ...], block: tuple[int, ...], *arguments: int, shared: int = 0
    ) -> LaunchResult:
        info = self.module.kernels[kernel]
        params = bytearray(info.param_bytes)
        for value, offset, size in zip(arguments, info.param_offsets, info.param_sizes, strict=True):
            params[offset : offset + size] = value.to_bytes(size, "little")
        full = [(*extent, 1, 1)[:3] for extent in (grid, block)]
        return self.engine.launch(self.module, kernel, full[0], full[1], shared, bytes(params))  # type: ignore[arg-type]

    def profile(
        self, kernel: str, grid: tuple[int, ...], block: tuple[int, ...], *arguments: int, shared: int = 0
    ) -> LaunchProfile:
        found = self.run(kernel, grid, block, *arguments, shared=shared).profile
        assert found is not None
        return found


@pytest.fixture(scope="module")
def bench(ptx: str) -> Bench:
    return Bench(ptx)


def test_a_launch_that_was_given_up_leaves_nothing_to_the_next(ptx: str) -> None:
    size, stuck, fresh = 4 * MIB, Bench(ptx, threads=1), Bench(ptx, threads=1)
    flag, out = stuck.buffer(4), stuck.buffer(4096)
    ctypes.memset(flag, 0, 4)
    with pytest.raises(DeviceError, match="Deadlock|waits"):
        stuck.run("waits_for_ever", (8,), (64,), flag, out, 100_000)
    launch = ("copy", (size // 4 // 256,), (256,))
    after = stuck.profile(*launch, stuck.buffer(size), stuck.buffer(size))
    assert after.terms_ns == fresh.profile(*launch, fresh.buffer(size), fresh.buffer(size)).terms_ns


def test_lanes_of_one_load_count_where_each_of_them_looks(bench: Bench) -> None:
    """A load whose first lane looks into shared memory once counted as one of shared memory."""
    size = 4 * MIB
    launch = ((size // 4 // 256,), (256,))
    found = bench.profile("mixed_spaces", *launch, bench.buffer(size), bench.buffer(size))
    assert found.dram_bytes == pytest.approx(2 * size, rel=0.01)


def test_allocations_that_are_too_many_to_tell_apart_hide_no_traffic(bench: Bench) -> None:
    """What came after them once counted as a part of the last of them, which all blocks share."""
    size, count = 4 * MIB, 2000
    others = bench.buffer(8 * count)
    made = [bench.buffer(256) for _ in range(count)]
    ctypes.memmove(others, (ctypes.c_uint64 * count)(*made), 8 * count)
    launch = ((size // 4 // 256,), (256,))
    found = bench.profile("many_allocations", *launch, bench.buffer(size), bench.buffer(size), others, count)
    assert found.dram_bytes > 0.99 * 2 * size


def test_working_out_the_time_of_a_launch_counts_as_work(ptx: str) -> None:
    """Thousands of tiny launches once kept the judge busy for many minutes, and were well within their limit."""
    bench = Bench(ptx, limits=Limits(max_work=120_000))
    buffers = bench.buffer(1024), bench.buffer(1024)
    for _ in range(2):
        bench.run("copy", (1,), (256,), *buffers)
    with pytest.raises(DeviceError, match="counts as more than 120000 instructions"):
        bench.run("copy", (1,), (256,), *buffers)


@pytest.mark.parametrize("kernel", ["copy", "neighbours", "walks"])
def test_time_does_not_depend_on_how_many_threads_replay_the_samples(ptx: str, kernel: str) -> None:
    size, found = 4 * MIB, []
    for threads in (1, 2, 5):
        bench = Bench(ptx, threads=threads)
        arguments = (bench.buffer(size), bench.buffer(size), *((8,) if kernel == "walks" else ()))
        profile = bench.profile(kernel, (size // 4 // 256 // 8,), (256,), *arguments)
        found.append((profile.time_ns, profile.terms_ns, profile.dram_bytes, profile.l1_hit_percent))
    assert found[0] == found[1] == found[2]
    assert found[0][2] > 0


def test_a_copy_moves_each_byte_twice(bench: Bench) -> None:
    size = 256 * MIB
    p = bench.profile("copy", (size // 4 // 256,), (256,), bench.buffer(size), bench.buffer(size))
    assert p.sectors_per_request == pytest.approx(4)
    assert p.bytes_per_sector == pytest.approx(32)
    assert p.dram_bytes == pytest.approx(2 * size, rel=0.01)
    assert p.l1_bytes == pytest.approx(2 * size)
    assert p.active_lanes == pytest.approx(32)
    assert p.bound == "dram"
    assert 80 < p.memory_percent < 95
    least_us = 2 * size / CARD.dram_bytes_per_second * 1e6
    assert least_us < p.time_us < 1.25 * least_us


def test_a_hit_on_a_line_that_is_still_coming_waits_for_it(bench: Bench) -> None:
    size = 64 * MIB
    arguments = (size // 4 // 256 - 1,), (256,), bench.buffer(size), bench.buffer(size)
    alone, with_neighbours = (bench.profile(kernel, *arguments) for kernel in ("copy", "neighbours"))
    assert with_neighbours.l1_hit_percent > 50
    assert with_neighbours.terms_ns["latency"] >= alone.terms_ns["latency"]


def test_constants_have_a_cache_of_their_own(bench: Bench) -> None:
    size = 4 * MIB
    same, different = (
        bench.profile("constants", (size // 4 // 256,), (256,), bench.buffer(size), stride)
        for stride in (0, 1)
    )
    for p in (same, different):
        assert p.sectors_per_request == pytest.approx(4)  # of the store: constants are no global accesses
        assert p.dram_bytes == pytest.approx(size)
    assert different.bound == "constant"
    assert different.time_ns > 5 * same.time_ns


def test_vectors_of_four_take_sixteen_sectors_per_request(bench: Bench) -> None:
    p = bench.profile("copy4", (1024,), (256,), bench.buffer(4 * MIB), bench.buffer(4 * MIB))
    assert p.sectors_per_request == pytest.approx(16)
    assert p.bytes_per_sector == pytest.approx(32)


@pytest.mark.parametrize(("stride", "sectors"), [(1, 4), (2, 8), (4, 16), (8, 32), (64, 32)])
def test_strided_loads_touch_more_sectors(bench: Bench, stride: int, sectors: int) -> None:
    threads = 1 << 16
    p = bench.profile(
        "strided",
        (threads // 256,),
        (256,),
        bench.buffer(4 * threads * stride),
        bench.buffer(4 * threads),
        stride,
    )
    assert p.sectors_per_request == pytest.approx((sectors + 4) / 2)  # the store is contiguous


def test_a_shifted_load_touches_one_sector_more(bench: Bench) -> None:
    p = bench.profile("shifted", (256,), (256,), bench.buffer(MIB), bench.buffer(MIB))
    assert p.sectors_per_request == pytest.approx((5 + 4) / 2)


@pytest.mark.parametrize(("stride", "ways"), [(0, 1), (1, 1), (2, 2), (3, 1), (8, 8), (32, 32), (33, 1)])
def test_bank_conflicts(bench: Bench, stride: int, ways: int) -> None:
    p = bench.profile("conflicts", (1,), (32,), bench.buffer(4096), stride)
    assert p.bank_conflicts == pytest.approx(ways)


@pytest.mark.parametrize("key", ["rtx4090", "a100-40gb"])
def test_more_conflicts_and_lower_occupancy_never_help(ptx: str, key: str) -> None:
    bench = Bench(ptx, device=DeviceName("sim", key), sampled_only=True)
    data, out = bench.buffer(128 * MIB), bench.buffer(8 * MIB)

    def times(launches: list[tuple[int, int]]) -> list[float]:
        found = [bench.profile("tiles", (8192,), (256,), data, out, s, shared=b) for s, b in launches]
        return [p.time_ns for p in found]

    times([(1, 1024)])  # leaves the caches as all others find them
    by_stride = times([(stride, 1024) for stride in (1, 2, 4, 8, 16, 32)])
    by_occupancy = times([(1, 1024 << i) for i in range(6)])
    for found in (by_stride, by_occupancy):
        assert found == sorted(found)
        assert found[-1] > 1.05 * found[0]


def test_lanes_that_are_switched_off_show(bench: Bench) -> None:
    p = bench.profile("some_lanes", (128,), (128,), bench.buffer(MIB), 8)
    assert p.active_lanes == pytest.approx(8, rel=0.05)
    assert FindingKind.DIVERGENCE in p.limits


def test_operations_are_counted_exactly(bench: Bench) -> None:
    p = bench.profile("multiply_add", (512,), (256,), bench.buffer(MIB), 4096)
    assert p.flops == pytest.approx(512 * 256 * 4096 * 2)
    assert p.bound in ("fma", "issue", "latency")
    assert p.dram_bytes <= 2 * MIB


def test_more_rounds_take_longer_in_proportion(bench: Bench) -> None:
    data = bench.buffer(4 * MIB)
    short = bench.profile("multiply_add", (4096,), (256,), data, 2048)
    long = bench.profile("multiply_add", (4096,), (256,), data, 8192)
    assert long.time_ns / short.time_ns == pytest.approx(4, rel=0.15)


def test_shared_rows_and_columns_come_from_dram_once(bench: Bench) -> None:
    """All blocks of a matrix product run in one wave: each matrix is read once, however often it is used."""
    n = 512
    size = 4 * n * n
    p = bench.profile(
        "row_of_matrix",
        (n // 16, n // 16),
        (16, 16),
        bench.buffer(size),
        bench.buffer(size),
        bench.buffer(size),
        n,
    )
    assert p.dram_bytes == pytest.approx(3 * size, rel=0.25)
    assert p.l2_hit_percent > 80
    assert p.flops == pytest.approx(2 * n**3)


def test_a_second_launch_on_small_data_runs_from_l2(ptx: str) -> None:
    bench = Bench(ptx)
    size = 16 * MIB
    source, target = bench.buffer(size), bench.buffer(size)
    first = bench.profile("copy", (size // 1024,), (256,), source, target)
    second = bench.profile("copy", (size // 1024,), (256,), source, target)
    assert second.time_ns < 0.8 * first.time_ns
    assert second.dram_bytes < first.dram_bytes


def test_other_buffers_are_not_in_l2(ptx: str) -> None:
    bench = Bench(ptx)
    size = 16 * MIB
    pairs = [(bench.buffer(size), bench.buffer(size)) for _ in range(6)]
    times = [bench.profile("copy", (size // 1024,), (256,), *pair).time_ns for pair in pairs]
    again = bench.profile("copy", (size // 1024,), (256,), *pairs[0]).time_ns
    assert len({*times, again}) == 1


@pytest.mark.parametrize(
    ("reads", "writes"), [(1, 0), (0, 1), (1, 1), (2, 1), (1, 2), (2, 2), (3, 1), (3, 2)]
)
def test_every_pass_over_more_than_l2_goes_to_dram(ptx: str, reads: int, writes: int) -> None:
    bench = Bench(ptx, sampled_only=True)
    size = 512 * MIB
    p = bench.profile(
        "passes", (768,), (256,), bench.buffer(size), bench.buffer(size), size // 4, reads, writes
    )
    assert p.dram_bytes == pytest.approx((reads + writes) * size, rel=0.03)
    assert p.time_us > (reads + writes) * size / CARD.dram_bytes_per_second * 1e6


@pytest.mark.parametrize("times", [1, 2, 3])
def test_passes_that_fit_in_l2_go_to_dram_once(ptx: str, times: int) -> None:
    """Dirty lines that are written again before they have to go are written back once."""
    bench = Bench(ptx, sampled_only=True)
    each = 4096  # floats: 16 KiB of the 98 KiB of L2 that a block has
    p = bench.profile("in_place", (6000,), (256,), bench.buffer(6000 * 4 * each), each, times)
    assert p.dram_bytes == pytest.approx(2 * 6000 * 4 * each, rel=0.03)


@pytest.mark.parametrize("times", [1, 2, 3])
def test_passes_in_place_that_do_not_fit_are_read_and_written_every_time(ptx: str, times: int) -> None:
    bench = Bench(ptx, sampled_only=True)
    each = 1 << 18  # floats: 1 MiB
    p = bench.profile("in_place", (1536,), (256,), bench.buffer(1536 * 4 * each), each, times)
    assert p.dram_bytes == pytest.approx(2 * times * 1536 * 4 * each, rel=0.05)


def test_what_a_launch_writes_is_paid_for_although_l2_holds_it(ptx: str) -> None:
    """Data that is there because it was read is clean: writing it costs. What is dirty already does not."""
    bench = Bench(ptx)
    size = 16 * MIB
    data, other = bench.buffer(size), bench.buffer(size)
    grid, block = (size // 1024,), (256,)
    first = bench.profile("copy", grid, block, data, other)  # data clean, other dirty
    assert first.dram_bytes == pytest.approx(2 * size, rel=0.03)
    back = bench.profile("copy", grid, block, other, data)
    assert back.dram_bytes == pytest.approx(size, rel=0.05)
    again = bench.profile("copy", grid, block, other, data)
    assert again.dram_bytes == pytest.approx(0, abs=0.02 * size)


def test_rounds_of_a_loop_that_only_waits_are_no_work(ptx: str) -> None:
    """Blocks take turns here, and wait for each other as long as the others take: a card runs them side by side."""
    bench = Bench(ptx)
    data, arrived = bench.buffer(MIB), bench.buffer(256)
    apart = bench.profile("meeting", (96,), (256,), data, arrived, 2000, 0)
    ctypes.memset(arrived, 0, 256)
    together = bench.profile("meeting", (96,), (256,), data, arrived, 2000, 1)
    assert together.bound != "longest block"
    assert together.disagreement < 0.1
    assert apart.time_ns < together.time_ns < 1.3 * apart.time_ns


def test_other_data_in_the_same_place_is_counted_anew(ptx: str) -> None:
    bench = Bench(ptx)
    count = 1 << 20
    source, where, target = (bench.buffer(4 * count) for _ in range(3))
    indices = (ctypes.c_int32 * count).from_address(where)

    def profile() -> LaunchProfile:
        return bench.profile("gather", (count // 256,), (256,), source, where, target)

    indices[:] = range(count)
    in_order = profile()
    assert in_order.sectors_per_request == pytest.approx(4)
    indices[:] = [i * 4099 % count for i in range(count)]
    scattered = profile()
    assert scattered.sectors_per_request == pytest.approx((32 + 4 + 4) / 3)
    indices[:] = range(count)
    assert profile().sectors_per_request == pytest.approx(4)


def test_blocks_start_one_after_the_other(bench: Bench) -> None:
    size = 128 * MIB
    blocks = size // 4 // 32
    p = bench.profile("tiny", (blocks,), (32,), bench.buffer(size), bench.buffer(size))
    least_ns = CONSTANTS.dispatch_clocks * blocks / (CARD.clock_khz / 1e6)
    assert p.terms_ns["dispatch"] == pytest.approx(least_ns)
    assert p.bound == "dispatch"
    assert p.time_ns > least_ns


def test_blocks_that_go_down_columns_share_what_lies_beside_them(ptx: str) -> None:
    """The next column is read when all blocks of this one have passed, which is little."""
    bench = Bench(ptx, device=DeviceName("sim", "rtx3090"), sampled_only=True)
    n = 4096
    size = 4 * n * n
    p = bench.profile("down_columns", (n * n // 256,), (256,), bench.buffer(size), bench.buffer(size), n)
    assert 2 * size <= p.dram_bytes < 2.2 * size


@pytest.mark.parametrize("key", ["rtx4090", "a100-40gb", "v100"])
def test_lines_of_one_request_follow_without_a_gap(ptx: str, key: str) -> None:
    card = load_profile(key)
    bench = Bench(ptx, device=DeviceName("sim", key), sampled_only=True)
    blocks, threads, rounds = 32 * card.sm_count, 256, 2000
    p = bench.profile(
        "rows_apart", (blocks,), (threads,), bench.buffer(MIB), bench.buffer(16 * blocks * threads), rounds
    )
    passes = blocks * threads * rounds * 4  # a line for each lane
    light_ns = passes / card.sm_count / (card.clock_khz * 1e-6)
    assert light_ns <= p.time_ns < 1.1 * light_ns


@pytest.mark.parametrize("key", ["rtx4090", "a100-40gb", "h100-pcie", "t4"])
def test_a_block_that_only_writes_does_not_wait_for_the_l2(ptx: str, key: str) -> None:
    card = load_profile(key)
    bench = Bench(ptx, device=DeviceName("sim", key), sampled_only=True)
    blocks = 256 * card.sm_count
    p = bench.profile("fill", (blocks,), (32,), bench.buffer(128 * blocks), shared=49152)
    turn_clocks = p.terms_ns["latency"] / p.rounds * card.clock_khz * 1e-6
    assert CONSTANTS.block_start_clocks < turn_clocks < CONSTANTS.block_start_clocks + card.l2_latency


def test_what_comes_again_after_more_than_l2_holds_is_read_again(ptx: str) -> None:
    bench = Bench(ptx, sampled_only=True)
    count = 256 * MIB // 4
    source, target = bench.buffer(8 * count), bench.buffer(4 * count)
    near, far = (
        bench.profile("apart", (count // 256,), (256,), source, target, distance)
        for distance in (MIB // 4, 128 * MIB // 4)
    )
    assert near.dram_bytes == pytest.approx(2 * 4 * count, rel=0.03)
    assert far.dram_bytes == pytest.approx(3 * 4 * count, rel=0.03)


def test_a_sector_takes_up_a_line_of_l2(ptx: str) -> None:
    """Lanes read a sector of every line of an array, round and round. Sectors of the larger array would fit into L2."""
    bench = Bench(ptx, sampled_only=True)
    lanes, small, large = 1 << 25, 32 * MIB, 160 * MIB
    assert small < large / 4 < CARD.l2_bytes < large
    near, far = (
        bench.profile("lines_apart", (lanes // 256,), (256,), bench.buffer(size), bench.buffer(4 * lanes), size // 4)
        for size in (small, large)
    )  # fmt: skip
    assert near.dram_bytes == pytest.approx(small + 4 * lanes, rel=0.05)
    assert far.dram_bytes > 32 * lanes


def test_local_memory_that_l1_and_l2_cannot_keep_is_written_and_read_again(ptx: str) -> None:
    """Each number lies in a line of its own there: 512 of them for a block, as many blocks as there is room for."""
    bench = Bench(ptx, sampled_only=True)
    blocks, each = 128 * 24 * 2, 512
    data = 4 * blocks * each
    p = bench.profile("keeps", (blocks,), (64,), bench.buffer(data), bench.buffer(data), each)
    assert 128 * each * 128 * p.resident_blocks > 2 * CARD.l2_bytes
    assert p.dram_bytes == pytest.approx(2 * data + 2 * 32 * blocks * each, rel=0.3)


def test_half_atomics_compare_and_swap_unless_they_are_packed(bench: Bench) -> None:
    def clocks(kernel: str, *arguments: int) -> float:
        terms = bench.profile(kernel, (4096,), (32,), bench.buffer(256), *arguments).terms_ns
        return terms["atomics"] * CARD.clock_khz / 1e6 / 4096

    nowhere = bench.buffer(1024)
    packed = clocks("halves_by_lane")
    assert packed == pytest.approx(4 * CONSTANTS.atomic_clocks)
    # Two lanes have a word, of 16 in two sectors: a load, and two rounds.
    assert clocks("half_by_lane") == pytest.approx(2 * 3 * CONSTANTS.atomic_clocks)
    assert clocks("halves_there", nowhere) == pytest.approx(32 * CONSTANTS.atomic_float_clocks)
    rounds = 32 + 32 * 33 / 2
    assert clocks("half_there", nowhere) == pytest.approx(rounds * CONSTANTS.atomic_lane_clocks)


@pytest.mark.parametrize("key", ["rtx4090", "a100-40gb", "t4"])
def test_compare_and_swap_in_shared_memory_waits_for_all_warps_of_a_block(ptx: str, key: str) -> None:
    """One lane of a block gets through at a time, however many of its warps try."""
    card, rounds = load_profile(key), 100
    bench = Bench(ptx, device=DeviceName("sim", key))
    out, there, own = bench.buffer(MIB), bench.buffer(4096), bench.buffer(4096)
    ctypes.memset(there, 0, 4096)
    ctypes.memmove(own, (ctypes.c_int * 1024)(*range(1024)), 4096)

    def clocks(threads: int, where: int) -> float:
        p = bench.profile("add_in_block", (1,), (threads,), out, where, rounds)
        return (p.time_ns - CONSTANTS.start_ns) * card.clock_khz / 1e6

    for threads in (32, 256, 512):  # a load, an addition, a swap and a branch for each update
        turn = clocks(threads, there) / (threads * rounds)
        assert 2 * card.shared_latency < turn < 5 * card.shared_latency
    assert clocks(256, there) > 50 * clocks(256, own)


def test_lanes_that_count_at_one_word_are_added_at_once(bench: Bench) -> None:
    out, there, own = bench.buffer(MIB), bench.buffer(4096), bench.buffer(4096)
    ctypes.memset(there, 0, 4096)
    ctypes.memmove(own, (ctypes.c_int * 1024)(*range(1024)), 4096)

    def time_ns(kernel: str, where: int) -> float:
        return bench.profile(kernel, (768,), (256,), out, where, 1000).time_ns

    assert time_ns("ones_in_block", there) < 1.1 * time_ns("ones_in_block", own)
    assert time_ns("values_in_block", there) > 5 * time_ns("values_in_block", own)


def test_swaps_of_the_program_s_own_wait_for_the_l2_one_by_one(bench: Bench) -> None:
    most = bench.buffer(256)
    ctypes.memset(most, 0, 256)
    p = bench.profile("greatest", (512,), (128,), most, 1)
    assert p.terms_ns["atomics"] * CARD.clock_khz / 1e6 == pytest.approx(512 * 128 * CARD.l2_latency)


def test_single_halves_that_ptxas_pairs_are_not_lost(ptx: str) -> None:
    bench = Bench(ptx, sampled_only=True)
    p = bench.profile("single_halves", (768,), (256,), bench.buffer(MIB), 1000, 0x3C00, 0x3800)
    pairs = 768 * 8 * 1000 * 4
    assert pairs <= p.instructions < 2 * pairs


@pytest.mark.parametrize("key", ["rtx4090", "a100-40gb", "t4"])
def test_a_channel_takes_its_time_for_a_few_bytes(ptx: str, key: str) -> None:
    """Reads of what DRAM delivers at a time: all side by side, half of all, one of each 256 bytes, and one of 1024."""
    card, count = load_profile(key), 1 << 20
    unit = card.dram_unit_bytes

    def dram_ns(stride: int) -> float:
        bench = Bench(ptx, device=DeviceName("sim", key), sampled_only=True)
        data, out = bench.buffer(1 << 30), bench.buffer(4 * count)
        return bench.profile("strided", (count // 256,), (256,), data, out, stride).terms_ns["dram"]

    near, half, one, far = map(dram_ns, (unit // 4, unit // 2, 64, 256))
    assert near == pytest.approx(half, rel=0.05)
    missing_ns = count * (CONSTANTS.visit_bytes - unit) / card.dram_bytes_per_second * 1e9
    assert one - half > 0.9 * missing_ns
    assert one == pytest.approx(far, rel=0.05)


@pytest.mark.parametrize(("key", "unit"), [("rtx4090", 32), ("t4", 32), ("a100-40gb", 64), ("v100", 64)])
def test_a_float_of_each_64_bytes_costs_what_dram_delivers_at_a_time(ptx: str, key: str, unit: int) -> None:
    """A burst of GDDR6 is a sector; of stacked memory two come at a time."""
    count = 1 << 20
    bench = Bench(ptx, device=DeviceName("sim", key), sampled_only=True)
    data, out = bench.buffer(64 * count), bench.buffer(4 * count)
    p = bench.profile("strided", (count // 256,), (256,), data, out, 16)
    assert p.dram_bytes == pytest.approx((unit + 4) * count, rel=0.02)


def test_sectors_that_lie_apart_take_up_their_lines_from_launch_to_launch(ptx: str) -> None:
    """A sector of each 64 bytes: L2 keeps half of its size of them, and nothing of twice its size."""

    def again(span: int) -> float:
        bench, count = Bench(ptx, sampled_only=True), span // 64
        data, out = bench.buffer(span), bench.buffer(4 * count)
        profiles = [bench.profile("strided", (count // 256,), (256,), data, out, 16) for _ in range(2)]
        return (profiles[1].dram_bytes - 4 * count) / (32 * count)

    assert again(CARD.l2_bytes // 2) < 0.05
    assert again(2 * CARD.l2_bytes) > 0.95


def test_threads_that_walk_through_more_lines_than_l1_holds_do_not_lose_them_at_every_step(ptx: str) -> None:
    bench = Bench(ptx, sampled_only=True)
    blocks, threads, each = 128 * 24, 128, 32  # twelve blocks at a time: 192 KiB of lines
    data = 4 * blocks * threads * each
    p = bench.profile(
        "walks", (blocks,), (threads,), bench.buffer(data), bench.buffer(4 * blocks * threads), each
    )
    assert p.resident_blocks * threads * 128 > CARD.l1_shared_bytes_per_sm
    assert data <= p.l2_bytes < 2.5 * data  # eight times as much if every step fetched its sector again


def test_l2_gathers_what_later_blocks_write_beside_it(ptx: str) -> None:
    """The next row of blocks comes while L2 holds the one before, or long after that."""

    def dram_ns(across: int, down: int) -> float:
        bench = Bench(ptx, device=DeviceName("sim", "rtx3090"), sampled_only=True)
        out = bench.buffer(1024 * across * down)
        return bench.profile("stripes", (across, down), (8, 32), out, 8 * down).terms_ns["dram"]

    bytes_ns = 1024 * 512 * 2048 / load_profile("rtx3090").dram_bytes_per_second * 1e9
    assert bytes_ns < dram_ns(512, 2048) < 1.6 * bytes_ns
    assert dram_ns(16384, 64) > 2 * bytes_ns


@pytest.mark.parametrize("key", ["rtx4090", "a100-40gb", "rtx3090", "h100-sxm"])
def test_fused_half_operations_stay_below_the_peak(ptx: str, key: str) -> None:
    bench = Bench(ptx, device=DeviceName("sim", key), sampled_only=True)
    p = bench.profile("half_multiply_add", (8192,), (256,), bench.buffer(MIB), 4096)
    assert p.flops >= 8192 * 256 * 4096 * 8 * 4
    assert 60 < p.compute_percent <= 100


@pytest.mark.parametrize("key", ["rtx4090", "a100-40gb", "t4"])
def test_a_conflict_of_two_ways_costs_time(ptx: str, key: str) -> None:
    bench = Bench(ptx, device=DeviceName("sim", key), sampled_only=True)
    out = bench.buffer(64 * MIB)
    times = [bench.profile("banks", (2048,), (256,), out, stride, 2000).time_ns for stride in (1, 2, 4)]
    assert times[1] > 1.3 * times[0]
    assert times[2] > 1.3 * times[1]


def test_shared_memory_of_turing_gives_64_bytes_per_clock(ptx: str) -> None:
    card = load_profile("t4")
    bench = Bench(ptx, device=DeviceName("sim", "t4"), sampled_only=True)
    blocks, threads, rounds = 64 * card.sm_count, 256, 2000  # whole rounds of blocks
    p = bench.profile("banks", (blocks,), (threads,), bench.buffer(64 * blocks * threads), 1, rounds)
    loaded = blocks * threads * rounds * 8 * 4
    light_ns = loaded / (card.sm_count * 64 * card.clock_khz * 1e-6)
    assert light_ns <= p.time_ns < 1.25 * light_ns


def test_turing_keeps_a_third_of_its_storage_as_shared_memory() -> None:
    resources = Resources(32, 0, 0)
    for card, left in (("t4", 64), ("v100", 128), ("rtx4090", 128)):
        shape = Shape((1, 1, 1), (256, 1, 1), 0, resources, load_profile(card))
        assert shape.l1_bytes == left * 1024, card


def test_occupancy_is_what_is_resident(bench: Bench) -> None:
    p = bench.profile("copy", (200,), (32,), bench.buffer(MIB), bench.buffer(MIB))
    assert p.occupancy_percent == pytest.approx(100 * 200 / 128 / 48)
    assert p.occupancy_limit == "grid"
    assert "occupancy 3%" in explain([p])


def test_names_in_anonymous_namespaces() -> None:
    assert short_name("(anonymous namespace)::copy(float const*, float*)") == "(anonymous namespace)::copy"
    assert short_name("void tiled<(bool)1>(float*)") == "void tiled<(bool)1>"
    assert short_name("void a::(anonymous namespace)::b<4>(int)") == "void a::(anonymous namespace)::b<4>"
    assert short_name("copy") == "copy"


def test_occupancy_and_rounds(bench: Bench) -> None:
    p = bench.profile("copy", (128 * 6 * 3,), (256,), bench.buffer(4 * MIB), bench.buffer(4 * MIB))
    assert (p.resident_blocks, p.occupancy_percent, p.occupancy_limit) == (6, 100.0, "threads")
    assert p.rounds == 3
    assert not p.resources_estimated


def test_atomics_to_one_address_take_their_time(bench: Bench) -> None:
    few = bench.profile("count_all", (64,), (256,), bench.buffer(256))
    many = bench.profile("count_all", (65536,), (256,), bench.buffer(256))
    assert many.terms_ns["atomics"] > 500 * few.terms_ns["atomics"] > 0


def test_atomics_of_a_warp_in_one_line(bench: Bench) -> None:
    def clocks(kernel: str, *arguments: int) -> float:
        terms = bench.profile(kernel, (4096,), (256,), bench.buffer(256), *arguments).terms_ns
        return terms["atomics"] * CARD.clock_khz / 1e6 / (4096 * 8)

    nowhere = bench.buffer(1024)  # all zeros, which ptxas cannot know
    ctypes.memset(nowhere, 0, 1024)
    assert clocks("count_by_lane") == pytest.approx(4 * CONSTANTS.atomic_clocks)  # four sectors
    assert clocks("count_all") == pytest.approx(CONSTANTS.atomic_lane_clocks)  # one lane for all
    assert clocks("count_there", nowhere) == pytest.approx(32 * CONSTANTS.atomic_lane_clocks)
    assert clocks("add_there", nowhere) == pytest.approx(32 * CONSTANTS.atomic_float_clocks)
    crowd = bench.buffer(1024)  # 24 lanes at one address, seven beside it in its sector, one in the next
    ctypes.memmove(crowd, (ctypes.c_int * 256)(*(max(thread % 32 - 23, 0) for thread in range(256))), 1024)
    assert clocks("count_there", crowd) == pytest.approx(
        24 * CONSTANTS.atomic_lane_clocks + CONSTANTS.atomic_clocks
    )


def test_times_do_not_depend_on_threads_or_on_what_else_runs(ptx: str) -> None:
    found = []
    for options in ({"threads": 1}, {"threads": 2}, {"threads": 2, "sampled_only": True}):
        bench = Bench(ptx, **options)
        n = 256
        buffers = [bench.buffer(4 * n * n) for _ in range(3)]
        found.append(bench.profile("row_of_matrix", (n // 16, n // 16), (16, 16), *buffers, n).to_json())
    assert found[0] == found[1] == found[2]


def test_only_counted_blocks_run_when_that_is_asked_for(ptx: str) -> None:
    bench = Bench(ptx, sampled_only=True)
    counter = bench.buffer(256)
    ctypes.memset(counter, 0, 256)
    p = bench.profile("count_all", (4096,), (32,), counter)
    assert (p.sampled_blocks, p.blocks) == (12, 4096)
    assert ctypes.c_int.from_address(counter).value == 12 * sum(range(1, 33))


def test_counting_leaves_results_as_they_are(ptx: str) -> None:
    bench = Bench(ptx)
    counter = bench.buffer(256)
    ctypes.memset(counter, 0, 256)
    bench.run("count_all", (500,), (48,), counter)
    assert ctypes.c_int.from_address(counter).value == 500 * sum(range(1, 49))


def test_the_clock_starts_where_the_launch_starts(ptx: str) -> None:
    bench = Bench(ptx)
    out = bench.buffer(256)
    params = out.to_bytes(8, "little")
    bench.engine.launch(bench.module, "ticks", (1, 1, 1), (32, 1, 1), 0, params, False, 1_000_000)
    start, end = (ctypes.c_longlong * 2).from_address(out)
    assert 1_000_000 <= start < end < 1_001_000


def test_profiles_survive_json(bench: Bench) -> None:
    p = bench.profile("copy", (1024,), (256,), bench.buffer(MIB), bench.buffer(MIB))
    assert LaunchProfile.from_json(p.to_json()) == p
    with pytest.raises(ValueError, match="unknown"):
        LaunchProfile.from_json({**p.to_json(), "colour": "blue"})
    with pytest.raises(ValueError, match=r"missing \['bound'\]"):
        LaunchProfile.from_json({name: value for name, value in p.to_json().items() if name != "bound"})
    old = LaunchProfile.from_json({**p.to_json(), "findings": ["a sentence"]})
    assert old.findings == (Finding(FindingKind.UNNAMED, "a sentence"),)


def test_whatever_a_launch_is_bound_by_has_a_kind_and_a_name(bench: Bench) -> None:
    n = 256
    p = bench.profile(
        "row_of_matrix", (n // 16, n // 16), (16, 16), *(bench.buffer(4 * n * n) for _ in range(3)), n
    )
    assert p.terms_ns.keys() <= BOUND_KINDS.keys()
    assert p.limits[0] is BOUND_KINDS[p.bound]
    assert all(bound_name(bound) for bound in BOUND_KINDS)


def test_an_explanation_names_the_line_and_stays_short(bench: Bench) -> None:
    p = bench.profile("strided", (256,), (256,), bench.buffer(64 * MIB), bench.buffer(MIB), 64)
    text = explain([p])
    assert "32 sectors per request" in text
    assert "line 18" in text
    assert "256 B apart" in text
    assert len(explain([p] * 40).splitlines()) <= 15


def test_without_ptxas_the_profile_says_so(ptx: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EVOENGINEER_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("evoengineer.sim.timing.ptxas.find_ptxas", lambda: None)
    p = Bench(ptx).profile("copy", (1024,), (256,), *(Bench(ptx).buffer(MIB) for _ in range(2)))
    assert p.resources_estimated
    assert p.sectors_per_request == pytest.approx(4)
    assert p.time_ns > 0
