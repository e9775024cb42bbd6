"""The C++ core of the simulated GPU, driven with hand-written block functions instead of kernels."""

import ctypes as c
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from evoengineer.sim.codegen import abi
from evoengineer.sim.codegen.steps import linear
from evoengineer.sim.runtime import native, structs

HERE = Path(__file__).parent
WORD_STORE, WORD_LOAD, SHARED_STORE, SHARED_LOAD = range(4)  # sites of every launch


@dataclass
class Block:
    fn: str = ""
    to: Sequence[int] = ()  # successors
    flags: int = 0
    fast_entry: int = -1
    member: int = 0
    barrier: tuple[int, int, int] = (0, 0, 0)  # id, count, kind
    conversions: Sequence[tuple[int, int, int, int, int]] = ()  # scalar, vector, bytes, segments, stride
    predicate: int = 0  # frame offset
    lazy: bool = False


@dataclass
class Fn:
    blocks: Sequence[Block]
    fast: str = ""
    local_bytes: int = 0
    param_bytes: int = 0
    result_bytes: int = 0
    keep: list[object] = field(default_factory=list)


@pytest.fixture(scope="module")
def fakes() -> c.CDLL:
    native.load_runtime()
    flags = (*native.RUNTIME_FLAGS, f"-I{native.RUNTIME_SOURCES}")
    return c.CDLL(str(native.build_shared([HERE / "fake_kernels.cpp"], "libfakes.so", flags)))


@pytest.fixture(scope="module")
def memory() -> native.Memory:
    return native.Memory()


class Runner:
    def __init__(self, fakes: c.CDLL, memory: native.Memory) -> None:
        self.fakes, self.memory = fakes, memory
        self.compiled: list[tuple[int, int]] = []
        self.error = structs.ErrorRecord()

    def pointer(self, name: str) -> int:
        return c.cast(getattr(self.fakes, name), c.c_void_p).value or 0

    def words(self, count: int, value: int = 0) -> tuple[int, np.ndarray]:
        """Device memory and a view of it."""
        address = self.memory.allocate(structs.DEVICE, 4 * count)
        view = np.ctypeslib.as_array((c.c_uint32 * count).from_address(address))
        view[:] = value
        return address, view

    def function(self, fn: Fn) -> structs.Function:
        blocks = (structs.BlockInfo * len(fn.blocks))()
        conversions: list[structs.Conversion] = []
        for info, b in zip(blocks, fn.blocks, strict=True):
            info.fn = self.pointer(b.fn) if b.fn and not b.lazy else None
            info.flags, info.fast_entry, info.member = b.flags, b.fast_entry, b.member
            info.barrier_id, info.barrier_count, info.barrier_kind = b.barrier
            info.first_conversion, info.conversions = len(conversions), len(b.conversions)
            info.barrier_pred, info.site, info.instructions = b.predicate, WORD_STORE, 10
            for scalar, vector, size, segments, stride in b.conversions:
                steps = (c.c_int64 * 32)(*linear(segments, stride))
                fn.keep.append(steps)
                conversions.append(structs.Conversion(scalar, vector, size, segments, 0, 0, steps))
        count = len(fn.blocks)
        reach = (c.c_uint64 * count)()
        for start in range(count):
            todo = list(fn.blocks[start].to)
            while todo:
                at = todo.pop()
                if not reach[start] >> at & 1:
                    reach[start] |= 1 << at
                    todo.extend(fn.blocks[at].to)
        table = (structs.Conversion * max(1, len(conversions)))(*conversions)
        fn.keep += [blocks, reach, table]
        return structs.Function(
            blocks, table, reach, self.pointer(fn.fast) if fn.fast else None, count, 1, 1024,
            fn.local_bytes, fn.param_bytes, fn.result_bytes,
        )  # fmt: skip

    def run(
        self,
        *functions: Fn,
        grid: int = 1,
        block: int = 32,
        out: int = 0,
        source: int = 0,
        n: int = 0,
        **options: int,
    ) -> int:
        table = (structs.Function * len(functions))(*(self.function(f) for f in functions))
        sites = (structs.Site * 5)(
            structs.Site(4, 4, abi.SPACES["global"], abi.STORE),
            structs.Site(4, 4, abi.SPACES["global"], abi.LOAD),
            structs.Site(4, 4, abi.SPACES["shared"], abi.STORE),
            structs.Site(4, 4, abi.SPACES["shared"], abi.LOAD),
            structs.Site(4, 4, abi.SPACES["generic"], abi.STORE),
        )
        params = (c.c_uint64 * 3)(out, source, n)

        def compile_block(function: int, index: int) -> None:
            self.compiled.append((function, index))
            table[function].blocks[index].fn = self.pointer(functions[function].blocks[index].fn)

        launch = structs.Launch()
        launch.functions, launch.sites, launch.params = table, sites, c.addressof(params)
        launch.compile = structs.CompileFn(compile_block)
        launch.function_count, launch.site_count = len(functions), len(sites)
        launch.count_total = 0
        for function in table:
            function.first_count = launch.count_total
            launch.count_total += function.block_count
        self.totals, self.lanes = ((c.c_uint64 * launch.count_total)() for _ in range(2))
        launch.totals, launch.total_lanes = self.totals, self.lanes
        launch.grid[:], launch.block[:] = (grid, 1, 1), (block, 1, 1)
        launch.threads = options.pop("threads", 1)
        for name, value in options.items():
            setattr(launch, name, value)
        code = native.launch(launch)
        self.error, self.launch = launch.error, launch
        return code

    def name(self, code: int) -> str:
        return abi.ERROR_NAMES[code]

    @property
    def text(self) -> str:
        return str(self.error.text.decode())


@pytest.fixture
def run(fakes: c.CDLL, memory: native.Memory) -> Runner:
    return Runner(fakes, memory)


INCREMENT = Fn([Block("increment_slow")], fast="increment_fast")


@pytest.mark.parametrize("threads", [1, 2])
def test_fast_warps_cover_the_grid(run: Runner, threads: int) -> None:
    out, got = run.words(64 * 5000)
    source, data = run.words(64 * 5000)
    data[:] = np.arange(len(data))
    assert run.run(INCREMENT, grid=5000, block=64, out=out, source=source, threads=threads) == 0
    assert (got == data + 1).all()


def test_a_warp_with_missing_lanes_runs_slow(run: Runner) -> None:
    out, got = run.words(3 * 40 + 8, 5)
    source, _ = run.words(3 * 40, 1)
    assert run.run(Fn([Block("increment_slow")]), grid=3, block=40, out=out, source=source, n=40) == 0
    assert (got[:120] == 2).all()
    assert (got[120:] == 5).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_the_lowest_failing_block_is_reported(run: Runner, threads: int) -> None:
    source, _ = run.words(10)
    code = run.run(
        Fn([Block()], fast="fault_fast"), grid=400, block=32, source=source, n=123, threads=threads
    )
    assert run.name(code) == "out_of_bounds"
    assert run.error.ctaid[0] == 123
    assert run.error.allocation == source
    assert "past the end of device memory of 40 bytes" in run.text


def test_contiguous_access_names_the_lane(run: Runner) -> None:
    out, _ = run.words(64)
    source, _ = run.words(40)
    assert run.name(run.run(INCREMENT, block=64, out=out, source=source)) == "out_of_bounds"
    assert (run.error.tid[0], run.error.site, run.error.access) == (40, WORD_LOAD, abi.LOAD)
    assert run.error.address == source + 160
    assert run.error.lanes == 0xFFFFFF00


@pytest.mark.parametrize(
    "kind, offset, site, expected",
    [
        (structs.DEVICE, 2, 1, "misaligned"),
        (structs.DEVICE, 1000, 1, "out_of_bounds"),
        (structs.CONSTANT, 0, 1, "none"),
        (structs.CONSTANT, 0, 0, "write_to_const"),
        (structs.PINNED, 0, 4, "none"),
        (structs.ARRAY, 0, 1, "out_of_bounds"),
        (structs.DEVICE, 0, 3, "out_of_bounds"),  # a device address in a shared access
    ],
)
def test_uniform_access(run: Runner, kind: int, offset: int, site: int, expected: str) -> None:
    source = run.memory.allocate(kind, 100)
    assert source % 256 == 0
    touch = Fn([Block()], fast="touch_fast")
    assert run.name(run.run(touch, source=source + offset, n=site, shared_bytes=64)) == expected


def test_freed_memory_is_named(run: Runner) -> None:
    source = run.memory.allocate(structs.DEVICE, 1 << 21)
    assert run.memory.free(source) == 0
    assert run.memory.free(source) == 2
    assert run.memory.free(source + 4) == 1
    assert run.name(run.run(Fn([Block()], fast="touch_fast"), source=source, n=1)) == "freed"
    assert run.error.allocation_state == structs.STATE_FREED
    assert run.error.allocation_bytes == 1 << 21


def test_null_pointer(run: Runner) -> None:
    assert run.name(run.run(Fn([Block()], fast="touch_fast"), source=0, n=1)) == "out_of_bounds"
    assert "null pointer" in run.text


@pytest.mark.parametrize("threads", [1, 2])
def test_barriers_and_their_reduction(run: Runner, threads: int) -> None:
    out, got = run.words(1024 * 20)
    counts = Block(fast_entry=1, barrier=(0, 0, abi.BARRIER_KINDS["popc"]))
    lets_go = Block(fast_entry=2, barrier=(1, 1024, abi.BARRIER_KINDS["sync"]))
    exchange = Fn([counts, lets_go, Block()], fast="exchange_fast")
    code = run.run(
        exchange,
        grid=20,
        block=1024,
        out=out,
        n=1024,
        shared_bytes=4096,
        flags=abi.USES_BARRIER,
        threads=threads,
    )
    assert code == 0, run.text
    assert (got == 3 * 16 * 32).all()


@pytest.mark.parametrize("stay_slow", [0, 1])
def test_divergence_and_return_to_fast(run: Runner, stay_slow: int) -> None:
    out, got = run.words(3 * 32)
    uniform = [(0, 64, 4, 1, 0)]
    diverge = Fn(
        [
            Block("diverge_odd", [2], conversions=uniform, lazy=True),
            Block("diverge_even", [2], conversions=uniform, lazy=True),
            Block("diverge_join", fast_entry=1, conversions=uniform, lazy=True),
        ],
        fast="diverge_fast",
    )
    assert run.run(diverge, grid=3, out=out, n=stay_slow) == 0
    lanes = np.arange(32)
    for block in range(3):
        extra = np.where(lanes % 2, 10, 20)
        uniform_value = np.full(32, 7 + block)
        before = uniform_value.copy()
        if stay_slow:
            uniform_value[0] ^= 1
        want = extra + before + uniform_value + (0 if stay_slow else 1000)
        assert (got[32 * block : 32 * block + 32] == want).all()
    assert run.compiled == [(0, 0), (0, 1)] + [(0, 2)] * stay_slow


def around(join_ends: bool = False, barrier: tuple[int, int, int] = (0, 0, 0)) -> Fn:
    return Fn(
        [
            Block("around_branch", [1, 2]),
            Block("around_barrier", [2], flags=abi.BLOCK_BARRIER, barrier=barrier),
            Block("around_end", flags=abi.BLOCK_EXIT_ONLY if join_ends else 0),
        ]
    )


def test_going_around_a_barrier_is_reported(run: Runner) -> None:
    out, _ = run.words(64)
    assert (
        run.name(run.run(around(), block=64, out=out, n=16, flags=abi.USES_BARRIER)) == "barrier_divergence"
    )
    assert run.error.tid[0] == 16
    assert "went around" in run.text


def test_early_return_excuses_from_barriers(run: Runner) -> None:
    out, _ = run.words(64)
    assert run.run(around(join_ends=True), block=64, out=out, n=40, flags=abi.USES_BARRIER) == 0


def test_deadlock_says_who_waits(run: Runner) -> None:
    out, _ = run.words(64)
    code = run.run(around(barrier=(3, 64, 0)), block=64, out=out, n=32, flags=abi.USES_BARRIER)
    assert run.name(code) == "deadlock"
    assert "threads 0-31 wait at barrier 3, where 32 of 64 arrived" in run.text


def test_counted_barrier_of_some_warps(run: Runner) -> None:
    out, got = run.words(64)
    assert run.run(around(barrier=(3, 32, 0)), block=64, out=out, n=32, flags=abi.USES_BARRIER) == 0
    assert (got == np.arange(64)).all()


@pytest.mark.parametrize("entry, want", [(1, 1000 + 64), (-1, 2000 + 64)])
def test_lanes_gather_in_front_of_a_barrier(run: Runner, entry: int, want: int) -> None:
    """They arrive once, together, and go on in FAST if it has an entry there."""
    out, got = run.words(3 * 64)
    meet = Block(
        "gathering_after", flags=abi.BLOCK_BARRIER, barrier=(0, 0, abi.BARRIER_KINDS["popc"]), fast_entry=entry,
        predicate=512,
    )  # fmt: skip
    gathering = Fn([Block("gathering_go", [2]), Block("gathering_go", [2]), meet], fast="gathering_fast")
    assert run.run(gathering, grid=3, block=64, out=out, flags=abi.USES_BARRIER) == 0, run.text
    assert (got == want).all()


@pytest.mark.parametrize("block", [32, 64])
def test_lock_between_lanes(run: Runner, block: int) -> None:
    out, got = run.words(2)
    lock = Fn([Block("lock_take", [0, 1]), Block("lock_release")])
    assert run.run(lock, grid=3, block=block, out=out, flags=abi.SPINS, max_resident=4) == 0
    assert list(got) == [0, 3 * block]


@pytest.mark.parametrize("flags", [abi.SPINS, abi.COOPERATIVE])
@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_wait_for_blocks(run: Runner, flags: int, threads: int) -> None:
    out, got = run.words(1)
    gather = Fn([Block()], fast="gather_fast")
    assert (
        run.run(gather, grid=50, block=64, out=out, n=100, flags=flags, max_resident=64, threads=threads) == 0
    )
    assert got[0] == 100


@pytest.mark.parametrize("form", ["fast", "slow"])
@pytest.mark.parametrize("flags", [0, abi.SPINS])
def test_budgets_end_runaway_kernels(run: Runner, form: str, flags: int) -> None:
    forever = Fn([Block("forever_slow", [0])], fast="forever_fast" if form == "fast" else "")
    assert run.name(run.run(forever, instruction_limit=100_000, flags=flags)) == "instruction_budget"
    started = time.monotonic()
    assert run.name(run.run(forever, wall_limit_seconds=0.1, flags=flags, threads=2, grid=3)) == "wall_limit"
    assert time.monotonic() - started < 5


FACTORIAL = Fn(
    [Block("factorial_start", [1, 2]), Block("factorial_more"), Block("factorial_one")],
    local_bytes=16, param_bytes=8, result_bytes=8,
)  # fmt: skip
TWICE = Fn([Block("twice")], param_bytes=8, result_bytes=8)


def test_recursion(run: Runner) -> None:
    out, got = run.words(32)
    assert run.run(Fn([Block("call_entry")]), FACTORIAL, out=out, n=3) == 0
    assert list(got[:4]) == [6, 24, 120, 720]
    assert run.run(Fn([Block("call_entry")]), FACTORIAL, out=out, n=500) == 0
    assert run.name(run.run(Fn([Block("call_entry")]), FACTORIAL, out=out, n=1 << 30)) == "stack_overflow"
    assert run.run(Fn([Block("call_entry")]), FACTORIAL, out=out, n=3) == 0


def test_indirect_calls(run: Runner) -> None:
    out, got = run.words(32)
    assert run.run(Fn([Block("indirect_entry")]), FACTORIAL, TWICE, out=out, n=2) == 0
    assert list(got[:4]) == [8, 24, 8, 24]
    assert run.name(run.run(Fn([Block("indirect_entry")]), FACTORIAL, TWICE, out=out, n=9)) == "invalid_call"


def members(slot: bool = True) -> Fn:
    return Fn(
        [
            Block("members_branch", [1, 2]),
            Block("members_low", [3]),
            Block("members_high", [3, 4]),
            Block(
                "members_meet", [4], flags=abi.BLOCK_WARP_SYNC | (abi.BLOCK_MEMBER_SLOT if slot else 0),
                member=192 if slot else abi.FULL_MASK,
            ),
            Block("around_end"),
        ]
    )  # fmt: skip


def test_members_of_a_warp_wide_operation_meet(run: Runner) -> None:
    out, _ = run.words(64)
    for slot, n in ((False, 1), (True, 1), (True, 0)):
        assert run.run(members(slot), out=out, n=n) == 0


@pytest.mark.parametrize("slot", [False, True])
def test_missing_members_are_reported(run: Runner, slot: bool) -> None:
    out, _ = run.words(64)
    assert run.name(run.run(members(slot), out=out, n=2)) == "missing_members"
    assert run.error.lanes == 0xFFFF0000
    assert run.error.tid[0] == 16


@pytest.mark.parametrize("barrier", [0, 1])
def test_races(run: Runner, barrier: int) -> None:
    shared = Fn([Block(fast_entry=1)], fast="shared_fast")
    flags = abi.USES_BARRIER | abi.CHECK_ACCESS
    size = {"grid": 3, "block": 64, "n": 64, "shared_bytes": 256}
    code = run.run(shared, source=barrier, flags=flags | abi.CHECK_RACE, **size)
    assert run.name(code) == ("none" if barrier else "race")
    if not barrier:
        assert (run.error.tid[0], run.error.other_tid[0]) == (0, 1)
        assert (run.error.site, run.error.other_site, run.error.address) == (SHARED_LOAD, SHARED_STORE, 4)


def test_uninitialised_device_memory(run: Runner) -> None:
    run.memory.track_initialised(True)
    try:
        source = run.memory.allocate(structs.DEVICE, 128)
        touch = Fn([Block()], fast="uninitialised_fast")
        flags = abi.CHECK_ACCESS | abi.CHECK_INIT
        assert run.memory.first_undefined(source, 128) == 0
        assert run.name(run.run(touch, source=source, flags=flags)) == "uninitialised"
        run.memory.mark_initialised(source, 64)
        assert run.memory.first_undefined(source, 64) is None
        assert run.memory.first_undefined(source, 128) == 64
        assert run.name(run.run(touch, source=source, flags=flags)) == "uninitialised"
        assert run.error.tid[0] == 16
        assert (run.error.site, run.error.other_site) == (1, 2), "where it was read, where it mattered"
        other = run.memory.allocate(structs.DEVICE, 128)
        run.memory.mark_initialised(source, 128)
        run.memory.copy_initialised(other, source, 128)
        assert run.run(touch, source=other, flags=flags) == 0
    finally:
        run.memory.track_initialised(False)


def test_allocations_keep_their_distance(run: Runner) -> None:
    memory = run.memory
    before = memory.used(structs.DEVICE)
    places = sorted(memory.allocate(structs.DEVICE, size) for size in (1, 256, 257, 0, 1 << 20, 5000))
    assert all(b - a >= 512 for a, b in pairwise(places))
    assert memory.used(structs.DEVICE) - before == 1 + 256 + 257 + (1 << 20) + 5000
    found = memory.find(places[0] + 300)
    assert found is not None
    assert not found.inside
    for place in places:
        assert memory.free(place) == 0
    assert memory.used(structs.DEVICE) == before
    assert memory.allocate(structs.DEVICE, 1 << 43) == 0
