"""The simulated GPU's engine: modules in, launches run, errors explained.

Owned by the device process (process/context.py). It knows kernels and memory; streams, events and the wire
protocol are the process's.
"""

from __future__ import annotations

import ctypes as c
import math
import os
from collections.abc import Hashable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evoengineer.card.occupancy import KernelResources, blocks_per_multiprocessor
from evoengineer.errors import DeviceError, UsageError
from evoengineer.sim.codegen import abi
from evoengineer.sim.engine.acceptance import accept
from evoengineer.sim.engine.looking import NAMED_BLOCKS, REHEARSAL_WORK, WAITING, Looking, affordable, apart
from evoengineer.sim.engine.modules import KernelInfo, Module, place_module
from evoengineer.sim.engine.order import delayed, drawn
from evoengineer.sim.engine.progress import reported
from evoengineer.sim.engine.rehearsal import may_be_undone, undone
from evoengineer.sim.engine.report import cuda_error, describe
from evoengineer.sim.engine.undefined_results import UndefinedResults
from evoengineer.sim.options import DeviceOptions
from evoengineer.sim.runtime import structs
from evoengineer.sim.runtime.native import Memory, launch, load_runtime
from evoengineer.sim.wire.protocol import CudaError

# What reads and translates PTX is imported when there is some (or by `warm_up`): it takes longer than all the
# rest of a device's start.
if TYPE_CHECKING:
    from evoengineer.sim.codegen.image import KernelImage
    from evoengineer.sim.timing.assemblers import Assemblers
    from evoengineer.sim.timing.profile import LaunchProfile
    from evoengineer.sim.timing.profiler import Profiler
    from evoengineer.sim.timing.totals import Totals

MODES = ("optimised", "varying")
MODE_VARIABLE = "EVOENGINEER_SIM_MODE"
_PARAMETER_BYTES, _WORKSPACE_BYTES = 32768, 4096
_LAUNCH_WORK = 10_000  # instructions: what starting a kernel takes us
_COUNTING_WORK = 40_000  # and working out its time
_BLOCK_WORK = 50  # and each of its blocks
_MODULE_INSTRUCTIONS = (
    10_000  # of PTX: as much as translating them, what reading and assembling a module takes us
)
_REHEARSED_WORK = 4_000_000  # instructions that are tried before launches, between two marks
_SPOT_KIBIBYTES = 20_000  # of memory in which races are looked for: what is kept of each byte takes two dozen
# Instructions of all warps, were each run once, up to which FAST code without what is outside of loops is worth it.
_LEAN_WORK = 5_000_000


@dataclass(frozen=True, slots=True)
class LaunchResult:
    """`elapsed_ns` is simulated time: the profile's, or a rough estimate where launches are not counted."""

    elapsed_ns: float
    profile: LaunchProfile | None = None


class Engine:
    """Modules, kernels and launches on one simulated card."""

    def __init__(self, options: DeviceOptions, memory: Memory | None = None) -> None:
        self.options = options
        self.card = options.device.profile
        self.undefined_results = UndefinedResults()
        self.memory = memory or Memory()
        self.mode = os.environ.get(MODE_VARIABLE, "optimised")
        if self.mode not in MODES:
            raise UsageError(f"{MODE_VARIABLE}={self.mode!r} is none of {', '.join(MODES)}")
        load_runtime()
        self._profiler: Profiler | None = None
        self._assemblers: Assemblers | None = None
        self._counted = 0
        self._missed: dict[Hashable, frozenset[int]] = {}  # blocks that earlier samples did not stand for
        self._work = self._rehearsed = 0  # instructions since the last mark
        self._looking = Looking()
        self._translated = 0  # PTX instructions
        self._params = self.memory.allocate(structs.CONSTANT, _PARAMETER_BYTES)
        self._workspace = self.memory.allocate(structs.DEVICE, _WORKSPACE_BYTES)
        if "init" in options.checks:
            self.memory.track_initialised(True)
            self.memory.mark_initialised(self._params, _PARAMETER_BYTES)
            self.memory.mark_initialised(self._workspace, _WORKSPACE_BYTES)

    @staticmethod
    def warm_up() -> None:
        """Import now what the first kernel needs."""
        from evoengineer.sim.codegen import image  # noqa: F401
        from evoengineer.sim.timing import profiler  # noqa: F401

    def configure(self, options: DeviceOptions) -> None:
        """How the launches from here on run; memory and modules stay, and the card is the same.

        Counting begins anew: with cold caches, and no earlier launch to take times from.
        """
        before, self.options = self.options, options
        if ("init" in options.checks) != ("init" in before.checks):
            self.memory.track_initialised("init" in options.checks, options.noise)
        self._profiler = None
        ranges = (c.c_uint64 * (2 * len(options.inputs)))(*(word for each in options.inputs for word in each))
        load_runtime().rt_race_scope(
            _SPOT_KIBIBYTES if options.spot_blocks else 0, ranges, len(options.inputs)
        )

    def continue_from(self, before: Engine) -> None:
        """What the engine of this device has done since the last mark counts, though the device was reset."""
        self._work, self._rehearsed, self._translated = before._work, before._rehearsed, before._translated

    def mark(self) -> None:
        """What may be done until the next mark may be done again."""
        self._work = self._rehearsed = 0

    def _active_profiler(self) -> Profiler | None:
        """What counts launches; None while nothing is counted."""
        options = self.options
        if not options.sample_blocks:
            return None
        if self._profiler is None:
            from evoengineer.sim.timing.profiler import Profiler

            self._profiler = Profiler(
                self.card,
                self.memory,
                options.sample_blocks,
                options.sample_seed,
                self._missed,
                self._active_assemblers(),
            )
        return self._profiler

    def touch(self, address: int, span: int, size: int) -> None:
        """A copy or fill has written `size` of these bytes: that is what L2 holds now."""
        if self._profiler is not None and size:
            found = self.memory.find(address)
            if found is not None and found.inside:
                self._profiler.touched(found.start, address, span, size)

    def cached(self, address: int, span: int) -> float:
        """The part of these bytes that L2 holds."""
        return self._held(address, span)[0]

    def dirty(self, address: int, span: int) -> float:
        """The part of these bytes that L2 holds and has yet to write."""
        return self._held(address, span)[1]

    def _held(self, address: int, span: int) -> tuple[float, float]:
        found = self.memory.find(address) if self._profiler is not None and span else None
        if self._profiler is None or found is None or not found.inside:
            return 0.0, 0.0
        return self._profiler.held(found.start, address, span)

    # -- modules -----------------------------------------------------------------------------------

    def load_module(self, texts: list[str]) -> Module:
        """Link PTX texts and place their variables in device memory."""
        from evoengineer.sim.codegen.program import link

        self._check_translated(_MODULE_INSTRUCTIONS)
        self._translated += _MODULE_INSTRUCTIONS
        linked = link(texts)
        assemblers = self._active_assemblers()
        assemblers.start(linked)
        return accept(place_module(linked, self.memory), assemblers, self.card)

    def _active_assemblers(self) -> Assemblers:
        if self._assemblers is None:
            from evoengineer.sim.timing.assemblers import Assemblers

            self._assemblers = Assemblers(self.card.sm)
        return self._assemblers

    def unload_module(self, module: Module) -> None:
        for variable in module.variables.values():
            self.memory.free(variable.address)

    # -- launches ------------------------------------------------------------------------------------

    def image(
        self,
        module: Module,
        kernel: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        spot: bool = False,
    ) -> KernelImage:
        """The kernel compiled for this block shape, and for how much a launch is worth; `spot`: for those blocks in
        which races are looked for, if not in all."""
        checks = self.options.checks
        if self.options.spot_blocks and not spot:
            checks -= {"race"}
        check_access, check_init = bool(checks & {"race", "init"}), "init" in checks
        length = module.linked.functions[kernel].text.count(";")
        warps = math.prod(grid) * -(-math.prod(block) // 32)
        lean = not check_access and warps * length <= _LEAN_WORK
        key = (kernel, block, check_access, check_init, lean)
        if key not in module.images:
            from evoengineer.sim.codegen.image import KernelImage
            from evoengineer.sim.codegen.program import refuse_unsupported

            refuse_unsupported(module.linked.functions[kernel])
            self._check_translated(length)
            image = KernelImage(
                module.linked, kernel, block, self.mode, check_access, self.card.sm_count, check_init, lean
            )
            self._translated += image.plan.instructions
            module.images[key] = image
        return module.images[key]

    def _may_translate(self, most: int) -> bool:
        limit = self.options.limits.max_translated
        return not limit or self._translated + most <= limit

    def _check_translated(self, most: int) -> None:
        """Before it is done: translating takes much longer than finding out how much there is to translate."""
        limit = self.options.limits.max_translated
        if not self._may_translate(most):
            text = f"more than {limit} PTX instructions to translate, all kernels and block shapes together"
            raise DeviceError(text, text, CudaError.TIMEOUT, "translation_budget")

    def spend(self, work: int, doing: str) -> None:
        """What takes us time without running instructions: that, too, is limited."""
        self._work += work
        limit = self.options.limits.max_work
        if limit and self._work > limit:
            text = f"{doing}, and all since the last mark, counts as more than {limit} instructions of warps"
            raise DeviceError(text, text, CudaError.TIMEOUT, "instruction_budget")

    def _instruction_limit(self) -> int:
        """What this launch may run; it has taken part of that by being launched."""
        limits = self.options.limits
        if not limits.max_work:
            return limits.max_instructions
        self._work += _LAUNCH_WORK
        left = max(limits.max_work - self._work, 1)
        return min(left, limits.max_instructions or left)

    def launch(
        self,
        module: Module,
        kernel: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        dynamic_shared_bytes: int = 0,
        params: bytes = b"",
        cooperative: bool = False,
        clock_cycles: int = 0,
    ) -> LaunchResult:
        """Run a kernel to its end. Raises DeviceError with a report if it fails."""
        options = self.options
        blocks = math.prod(grid)
        work = _BLOCK_WORK * blocks + (_COUNTING_WORK if options.sample_blocks else 0)
        self.spend(work, f"starting a grid of {blocks} blocks")
        image = plain = self.image(module, kernel, grid, block)
        shared_bytes = image.plan.shared_bytes + dynamic_shared_bytes
        info = module.kernels[kernel]
        key: Hashable = None
        samples: tuple[int, ...] = ()
        buffers: tuple[int, ...] = ()
        profiler = self._active_profiler()
        if profiler is not None:
            words = tuple(zip(info.param_offsets, info.param_sizes, strict=True))
            key = profiler.key(image, grid, shared_bytes, params, words)
            buffers = profiler.buffers(params, words)
            if not options.reuse_profiles:  # what a kernel does may hang on memory that the key does not see
                self._counted += 1
                key = (key, self._counted)
            else:
                key = profiler.with_data(key, image, buffers)
            samples = () if profiler.known(key) else profiler.samples(image, grid)
        c.memmove(self._params, params, len(params))
        if cooperative:
            c.memset(self._workspace, 0, _WORKSPACE_BYTES)

        def prepared(image: KernelImage) -> structs.Launch:
            request = self._request(module, image)
            request.grid[:], request.block[:] = grid, block
            request.shared_bytes = shared_bytes
            request.flags = self._flags(image, cooperative)
            request.threads = options.threads
            request.max_resident = max(self.resident_blocks(info, block, shared_bytes), 1)
            request.instruction_limit = self._instruction_limit()
            request.wall_limit_seconds = options.limits.max_seconds
            request.symbols[0] = self._workspace if cooperative else 0  # GRID_WORKSPACE
            request.clock_start = clock_cycles
            # Who looks for races in all blocks looks for reads of what nobody has written in another call.
            everywhere = "race" in options.checks and not options.spot_blocks
            request.noise = 0 if everywhere else options.noise
            request.zeroed_start, request.zeroed_bytes = image.plan.zeroed_shared
            request.sample_count = 0
            return request

        checked, whole = image, False
        spots: tuple[int, ...] = ()
        if self._may_look(image):
            checked = self.image(module, kernel, grid, block, spot=True)
            spots = apart(options, image, grid, samples, cooperative)
            whole = self._looking.in_all(options, image, grid, cooperative)
            tried = self._may_try(self._looking.beforehand(options, image, grid, cooperative))
            # Where their executions cannot be added up, or the other blocks are too many to be named without them.
            if spots and (checked.block_count != image.block_count or blocks > NAMED_BLOCKS):
                tried, spots = iter([spots] if may_be_undone(self.memory) else []), ()
            for few in tried:
                request = prepared(checked)
                request.flags |= abi.CHECK_RACE | abi.REHEARSAL
                self._run_chosen(request, few)
                self._rehearse(request, checked, grid, block)
        image, spots = (checked, ()) if whole else (image, spots)
        request = prepared(image)
        request.flags |= abi.CHECK_RACE if whole else 0
        self._count(request, image, samples, cooperative)
        exact = not request.flags & abi.SAMPLED_ONLY
        if exact and blocks <= NAMED_BLOCKS and (spots or options.block_order == "drawn"):
            self._run_chosen(request, self._order(request, blocks, frozenset(spots)))
        with reported(kernel) if options.progress else nullcontext():
            self._run(request, image, grid, block)
        totals = _totals(request)
        for few, looked_into in affordable(spots, totals):
            part = checked if looked_into else image
            request = prepared(part)
            request.flags |= abi.CHECK_RACE if looked_into else 0
            self._run_chosen(request, few)
            self._run(request, part, grid, block)
            totals = totals.with_more(_totals(request))
        if options.spot_blocks:
            self._looking.note(plain, grid, totals.instructions)
        if image.check_init:
            self.undefined_results.note(self.memory.undefined_notes(), image)
        profile = None
        if profiler is not None:
            if samples:
                resources = profiler.resources(image, info.registers)
                from evoengineer.sim.timing.shape import Shape

                shape = Shape(grid, block, shared_bytes, resources, self.card)
                profiler.measure(key, shape, image, samples, buffers, totals if exact else None)
            profile = profiler.evaluate(key, kernel, buffers)
        return LaunchResult(profile.time_ns if profile else self._rough_ns(image, grid, block), profile)

    def _run(
        self,
        request: structs.Launch,
        image: KernelImage,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
    ) -> None:
        request.instructions = 0  # a launch without blocks does not set it
        failed = launch(request)
        self._work += request.instructions
        if failed:
            error = request.error
            report = describe(error, image, grid, block)
            raise DeviceError(
                report.splitlines()[0], report, cuda_error(error.code), abi.ERROR_NAMES[error.code]
            )

    def _rehearse(
        self,
        request: structs.Launch,
        image: KernelImage,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
    ) -> None:
        """Only a race counts: whatever else goes wrong, blocks that are not there may be missed."""
        request.instruction_limit = min(request.instruction_limit, REHEARSAL_WORK)
        before = self._work
        with undone(self.memory):
            try:
                self._run(request, image, grid, block)
            except DeviceError as error:
                if error.kind == abi.ERROR_NAMES[abi.RACE]:
                    raise
        self._rehearsed += max(self._work - before, REHEARSAL_WORK // 4)  # to undo it takes time, too
        self._work = before

    def _may_try(self, parts: Iterator[Sequence[int]]) -> Iterator[Sequence[int]]:
        """Of what could be tried beforehand, as much as there is time for."""
        for part in parts:
            if self._rehearsed < _REHEARSED_WORK and may_be_undone(self.memory):
                yield part

    def _order(self, request: structs.Launch, blocks: int, without: frozenset[int]) -> Sequence[int]:
        """Of blocks that are named one by one, as `block_order` has it."""
        order: Sequence[int] = range(blocks)
        if self.options.block_order == "reversed":
            order = range(blocks - 1, -1, -1)
        elif self.options.block_order == "drawn":
            seed = f"{self.options.order_seed} {blocks}"
            waiting = request.flags & WAITING
            order = delayed(blocks, request.max_resident, seed) if waiting else drawn(blocks, seed)
        return [each for each in order if each not in without] if without else order

    def _run_chosen(self, request: structs.Launch, blocks: Sequence[int]) -> None:
        """These only, in this order."""
        request.flags |= abi.SAMPLED_ONLY
        request.chosen, request.chosen_count = (c.c_uint64 * len(blocks))(*blocks), len(blocks)

    @property
    def reversed(self) -> bool:
        """Of a block the last warp comes first; of a grid the last block, unless blocks are named one by one; of what
        nothing orders in several streams the last command."""
        order = self.options.block_order
        return order == "reversed" or (order == "drawn" and self.options.order_seed % 2 == 1)

    def _may_look(self, image: KernelImage) -> bool:
        options = self.options
        asked = bool(options.spot_blocks) and "race" in options.checks and not options.sampled_only
        return asked and self._may_translate(image.plan.instructions)

    def _count(
        self, request: structs.Launch, image: KernelImage, samples: tuple[int, ...], cooperative: bool
    ) -> None:
        """Have the runtime count these blocks, and run nothing else if that is asked for."""
        request.sample_count = len(samples)
        if samples:
            assert self._profiler is not None
            warps = -(-request.block[0] * request.block[1] * request.block[2] // 32)
            request.samples = (c.c_uint64 * len(samples))(*samples)
            from evoengineer.sim.timing.profiler import count_bytes_array

            request.count_bytes = count_bytes_array(self._profiler.code(image))
            request.trace_limit = self._profiler.trace_limit(len(samples), warps)
        # Blocks that wait for each other must all run.
        if self.options.sampled_only and not cooperative and not request.flags & abi.SPINS:
            request.flags |= abi.SAMPLED_ONLY
            request.chosen, request.chosen_count = request.samples, len(samples)

    def _request(self, module: Module, image: KernelImage) -> structs.Launch:
        """The part of a launch that stays the same for a compiled kernel."""
        if image.request is None:
            symbols = (c.c_uint64 * len(image.plan.symbols))()
            for i, name in enumerate(image.plan.symbols):
                if name in module.variables:
                    symbols[i] = module.variables[name].address
            image.request = structs.Launch(
                functions=image.functions,
                sites=image.sites,
                params=self._params,
                symbols=symbols,
                compile=structs.compile_callback(image.compile_block),
                function_count=len(image.functions),
                site_count=len(image.plan.sites),
                count_total=image.block_count,
                totals=(c.c_uint64 * max(image.block_count, 1))(),
                total_lanes=(c.c_uint64 * max(image.block_count, 1))(),
            )
        return image.request

    def _flags(self, image: KernelImage, cooperative: bool) -> int:
        flags = image.plan.flags
        if cooperative:
            flags |= abi.COOPERATIVE | abi.SPINS | abi.ORDERED | abi.USES_BARRIER
        if image.check_access:
            flags |= abi.CHECK_ACCESS
        flags |= abi.CHECK_RACE if "race" in self.options.checks and not self.options.spot_blocks else 0
        flags |= abi.CHECK_INIT if "init" in self.options.checks else 0
        flags |= abi.REVERSED if self.reversed else 0
        return flags

    def resident_blocks(self, kernel: KernelInfo, block: tuple[int, int, int], shared_bytes: int) -> int:
        """How many blocks fit on the card at once; `shared_bytes` of static and dynamic shared memory."""
        resources = KernelResources(block[0] * block[1] * block[2], shared_bytes, kernel.registers)
        return self.card.sm_count * blocks_per_multiprocessor(self.card, resources)

    def _rough_ns(self, image: KernelImage, grid: tuple[int, int, int], block: tuple[int, int, int]) -> float:
        """Without counting: every thread runs every PTX instruction once, at the card's peak rate."""
        threads = grid[0] * grid[1] * grid[2] * block[0] * block[1] * block[2]
        rate = self.card.sm_count * 128 * self.card.clock_khz * 1e3
        return 2000.0 + threads * image.plan.instructions / rate * 1e9


def _totals(request: structs.Launch) -> Totals:
    """What every block of the launch did."""
    from evoengineer.sim.timing.totals import Totals

    count = request.count_total
    return Totals(
        tuple(request.totals[:count]),
        tuple(request.total_lanes[:count]),
        request.instructions,
        tuple((each.block, each.instructions) for each in request.busiest if each.instructions),
    )
