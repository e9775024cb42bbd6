"""Takes launches from counters to profiles, and remembers what it has seen.

A launch that repeats an earlier one (same code, shape and parameters, but for where its buffers lie) is not
counted again. What L2 holds is carried from launch to launch, so a repeated launch on small data runs from L2,
as it does on a card.
"""

from __future__ import annotations

import ctypes as c
import hashlib
from collections import OrderedDict
from collections.abc import Hashable
from functools import cache
from pathlib import Path

from evoengineer.card.profile import Profile
from evoengineer.sim.codegen.image import KERNELS, KernelImage
from evoengineer.sim.runtime.native import Memory, load_runtime
from evoengineer.sim.timing.analysis import analyse
from evoengineer.sim.timing.assemblers import Assemblers
from evoengineer.sim.timing.code import KernelCode, kernel_code
from evoengineer.sim.timing.counters import CacheShares, read_counters, read_overlaps, replay
from evoengineer.sim.timing.memory import Traffic, compared
from evoengineer.sim.timing.profile import ENOUGH_AGREEMENT, LaunchProfile
from evoengineer.sim.timing.ptxas import Resources
from evoengineer.sim.timing.report import launch_profile
from evoengineer.sim.timing.residency import Residency, Stretch
from evoengineer.sim.timing.sampling import choose_blocks, weigh_blocks
from evoengineer.sim.timing.sass import MachineCode, read_code
from evoengineer.sim.timing.shape import Measured, Shape
from evoengineer.sim.timing.totals import Totals, agree

TRACED_REQUESTS = 400_000  # of all samples together
_LEAST_TRACE = 256  # per warp
_REMEMBERED = 4096
_MANY_BLOCKS = 4096  # in a larger grid edges matter less, and its blocks are often larger: fewer are counted
_LOOKED_AT_BYTES = 1 << 16  # of a buffer, to see whether its content has changed
_MOST_CONTENTS = 64  # of one launch that are told apart
_LITTLE = 0.02  # of an allocation in L2: not worth another evaluation


@cache
def _reader_version() -> str:
    """Changes whenever the code that reads code changes."""
    here = Path(__file__).parent
    names = ("arithmetic.py", "code.py", "dependence.py", "opcodes.py", "sass.py")
    return hashlib.sha256(b"".join((here / name).read_bytes() for name in names)).hexdigest()


class Profiler:
    """Of one device: its modules, their code, the launches that were counted, and what L2 holds."""

    def __init__(
        self,
        card: Profile,
        memory: Memory,
        sample_blocks: int,
        sample_seed: int,
        missed: dict[Hashable, frozenset[int]],
        assemblers: Assemblers,
    ) -> None:
        """`missed` are blocks of kernels and grids that earlier samples did not stand for; it is added to."""
        self._card, self._memory, self._limit, self._seed = card, memory, sample_blocks, sample_seed
        self._assemblers = assemblers
        self._machine: dict[str, dict[str, MachineCode]] = {}
        self._codes: dict[str, KernelCode] = {}
        self._measured: OrderedDict[Hashable, Measured] = OrderedDict()
        self._buffers: dict[Hashable, tuple[int, ...]] = {}
        self._evaluated: dict[Hashable, tuple[LaunchProfile, dict[int, Stretch]]] = {}
        self._missed = missed
        self._contents: dict[Hashable, OrderedDict[bytes, None]] = {}  # what lay in the buffers of launches
        self.residency = Residency(card.l2_bytes)

    def touched(self, start: int, address: int, span: int, size: int) -> None:
        """A copy or fill has written `size` bytes there."""
        low = address - start
        self.residency.touch({start: Stretch(low, low + span, float(size), 1.0)})

    def held(self, start: int, address: int, span: int) -> tuple[float, float]:
        """The part of what a copy touches that L2 holds, and the part that is there and dirty."""
        low = address - start
        return self.residency.fractions({start: Stretch(low, low + span, float(span))})[start]

    def samples(self, image: KernelImage, grid: tuple[int, int, int]) -> tuple[int, ...]:
        """Blocks to count; those with most work among them, if samples without them told something else last time."""
        many = grid[0] * grid[1] * grid[2] > _MANY_BLOCKS
        chosen = choose_blocks(grid, max(2 * self._limit // 3, 1) if many else self._limit, self._seed)
        return tuple(sorted({*chosen, *self._missed.get((image.key, grid), ())}))

    def trace_limit(self, samples: int, warps: int) -> int:
        """How many requests of each warp the cache model may see."""
        return max(TRACED_REQUESTS // max(samples * warps, 1), _LEAST_TRACE)

    def resources(self, image: KernelImage, guess: int) -> Resources:
        """Registers and spills of a kernel, from ptxas if it could be asked."""
        known = self._assemblers.of_kernel(image.module, image.kernel).resources.get(image.kernel)
        return known or Resources(guess, 0, 0, estimated=True)

    def code(self, image: KernelImage) -> KernelCode:
        """A kernel's code as the model needs it, from disk if it was read before."""
        if image.key not in self._codes:
            text = image.module.texts[image.module.text_of.get(image.kernel, 0)]
            cubin = self._assemblers.of_kernel(image.module, image.kernel).cubin
            # Reading PTX and cubin again would take a while for large kernels.
            key = f"{image.key}.{hashlib.sha256(_reader_version().encode() + cubin).hexdigest()[:16]}.code"
            found = KERNELS.get_object(key, KernelCode)
            if found is None:
                if text not in self._machine:
                    self._machine[text] = read_code(cubin) if cubin else {}
                own = image.module.text_of.get(image.kernel, 0)
                names = frozenset(name for name, number in image.module.text_of.items() if number == own)
                found = kernel_code(image.program, self._machine[text].get(image.kernel), names)
                KERNELS.put_object(key, found)
            self._codes[image.key] = found
        return self._codes[image.key]

    def key(
        self,
        image: KernelImage,
        grid: tuple[int, int, int],
        shared_bytes: int,
        params: bytes,
        words: tuple[tuple[int, int], ...],
    ) -> Hashable:
        """Equal for launches that may share a profile; `words` are offset and size of each parameter."""
        parts: list[Hashable] = [image.key, grid, shared_bytes]
        for offset, size in words:
            data = params[offset : offset + size]
            if size == 8:
                found = self._memory.find(int.from_bytes(data, "little"))
                if found is not None and found.inside:
                    parts.append((found.bytes, int.from_bytes(data, "little") - found.start))
                    continue
            parts.append(data)
        return tuple(parts)

    def with_data(self, key: Hashable, image: KernelImage, buffers: tuple[int, ...]) -> Hashable:
        """The key with what lies in a launch's buffers, if that may send the kernel another way.

        Of large ones some words tell. Iterations of a kernel whose data always changes are told apart up to a point:
        by then earlier ones have shown what it does.
        """
        if not self.code(image).by_data:
            return key
        content = hashlib.sha256()
        for start in buffers:
            found = self._memory.find(start) if start else None
            if found is not None and found.live:
                step = max(found.bytes // _LOOKED_AT_BYTES // 4 * 4, 1)
                view = memoryview((c.c_uint8 * found.bytes).from_address(found.start))
                content.update(bytes(view[::step]))
        seen = self._contents.setdefault(key, OrderedDict())
        seen.setdefault(content.digest())
        if len(seen) > _MOST_CONTENTS:
            seen.popitem()
            return (key, next(reversed(seen)))
        return (key, content.digest())

    def known(self, key: Hashable) -> bool:
        """Whether an earlier launch with that key was counted."""
        return key in self._measured

    def buffers(self, params: bytes, words: tuple[tuple[int, int], ...]) -> tuple[int, ...]:
        """Allocations that a launch's parameters point into, in order."""
        found = []
        for offset, size in words:
            if size == 8:
                at = self._memory.find(int.from_bytes(params[offset : offset + size], "little"))
                found.append(at.start if at is not None and at.inside else 0)
        return tuple(found)

    def measure(
        self,
        key: Hashable,
        shape: Shape,
        image: KernelImage,
        samples: tuple[int, ...],
        buffers: tuple[int, ...] = (),
        totals: Totals | None = None,
    ) -> None:
        """Read the counters of the launch that has just run; `totals` unless only the samples did."""
        self._buffers[key] = buffers
        runtime = load_runtime()
        sites = len(image.plan.sites)
        code = self.code(image)
        weights = weigh_blocks(shape.grid, samples, self._missed.get((image.key, shape.grid), frozenset()))
        counters = read_counters(runtime, samples, weights, code.instructions, sites)
        resident = max(shape.resident, 1)
        caches, footprints = replay(
            runtime,
            weights,
            sites,
            CacheShares(
                shape.l1_bytes // resident,
                self._card.l2_bytes // min(resident * self._card.sm_count, shape.blocks),
                self._card.dram_unit_bytes,
            ),
        )
        pairs = [(pair.one, pair.other) for pair in compared(samples, shape.grid)]
        overlaps = read_overlaps(runtime, footprints, pairs)
        runtime.rt_count_release()
        agreed = agree(counters, tuple(caches), totals, shape.blocks, code)
        if totals is not None and agreed.disagreement > ENOUGH_AGREEMENT:
            self._missed[image.key, shape.grid] = frozenset(block for block, _ in totals.busiest)
        self._measured[key] = Measured(shape, code, agreed, tuple(footprints), overlaps)
        while len(self._measured) > _REMEMBERED:
            old, _ = self._measured.popitem(last=False)
            self._evaluated.pop(old, None)
            self._buffers.pop(old, None)

    def evaluate(self, key: Hashable, name: str, buffers: tuple[int, ...] = ()) -> LaunchProfile:
        """The profile of a measured launch, with L2 as it is now; `buffers` are those of this launch."""
        measured = self._measured[key]
        cold = self._evaluated.get(key)
        if cold is None:
            analysis = analyse(measured, {}, {})
            cold = (launch_profile(name, measured, analysis), _stretches(analysis.traffic, key))
            self._evaluated[key] = cold
        profile, touched = cold
        moved = dict(zip(self._buffers.get(key, ()), buffers, strict=False))
        here = {moved.get(start, start): stretch for start, stretch in touched.items()}
        held = self.residency.fractions(here)
        found = {start: held[moved.get(start, start)] for start in touched}
        resident = {start: round(there, 2) for start, (there, _) in found.items() if there > _LITTLE}
        dirty = {start: round(soiled, 2) for start, (_, soiled) in found.items() if soiled > _LITTLE}
        if resident:
            warm_key = (key, tuple(sorted(resident.items())), tuple(sorted(dirty.items())))
            warm = self._evaluated.get(warm_key)
            if warm is None:
                warm = (launch_profile(name, measured, analyse(measured, resident, dirty)), touched)
                self._evaluated[warm_key] = warm
            profile = warm[0]
        self.residency.touch(here)
        return profile


def _stretches(traffic: Traffic, key: Hashable) -> dict[int, Stretch]:
    """Where in each allocation its touched bytes lie. Whoever repeats the launch touches the same."""
    found = {}
    for start, size in traffic.touched.items():
        low, high = traffic.reach[start]
        bytes_ = min(size, float(high - low))
        spread = traffic.taken[start] / size if size else 1.0
        found[start] = Stretch(low - start, high - start, bytes_, traffic.soiled[start], spread, (key, start))
    return found


def count_bytes_array(code: KernelCode) -> c.Array[c.c_uint8]:
    """Widths and kinds of all sites, as the runtime wants them."""
    return (c.c_uint8 * max(len(code.count_bytes), 1)).from_buffer_copy(code.count_bytes or b"\0")
