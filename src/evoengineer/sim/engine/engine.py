"""The simulated GPU's engine: modules in, launches run, errors explained.

Owned by the device process (process/context.py). It knows kernels and memory; streams, events and the wire
protocol are the process's.
"""

from __future__ import annotations

import ctypes as c
import os
import random
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evoengineer.errors import DeviceError, UsageError
from evoengineer.sim.codegen import abi
from evoengineer.sim.engine.modules import Module, place_module
from evoengineer.sim.engine.report import cuda_error, describe
from evoengineer.sim.options import DeviceOptions
from evoengineer.sim.runtime import structs
from evoengineer.sim.runtime.native import Memory, launch, load_runtime

# What reads and translates PTX is imported when there is some (or by `warm_up`): it takes longer than all the
# rest of a device's start.
if TYPE_CHECKING:
    from evoengineer.sim.codegen.image import KernelImage
    from evoengineer.sim.codegen.program import LinkedModule
    from evoengineer.sim.timing.profile import LaunchProfile
    from evoengineer.sim.timing.profiler import Profiler

MODES = ("optimised", "varying")
MODE_VARIABLE = "EVOENGINEER_SIM_MODE"
_PARAMETER_BYTES, _WORKSPACE_BYTES = 32768, 4096


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
        self.memory = memory or Memory()
        self.mode = os.environ.get(MODE_VARIABLE, "optimised")
        if self.mode not in MODES:
            raise UsageError(f"{MODE_VARIABLE}={self.mode!r} is none of {', '.join(MODES)}")
        load_runtime()
        self._profiler: Profiler | None = None
        self._counted = 0
        self._chance = random.Random(options.extra_seed)
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

        Counting that begins anew, or of other blocks, finds cold caches and no earlier launch to take times from.
        """
        before, self.options = self.options, options
        if ("init" in options.checks) != ("init" in before.checks):
            self.memory.track_initialised("init" in options.checks)
        sampling = (options.sample_blocks, options.sample_seed)
        if options.sample_blocks and sampling != (before.sample_blocks, before.sample_seed):
            self._profiler = None
        self._chance = random.Random(options.extra_seed)

    def _active_profiler(self, module: LinkedModule) -> Profiler | None:
        """What counts launches of the module; None while nothing is counted."""
        options = self.options
        if not options.sample_blocks:
            return None
        if self._profiler is None:
            from evoengineer.sim.timing.profiler import Profiler

            self._profiler = Profiler(self.card, self.memory, options.sample_blocks, options.sample_seed)
        self._profiler.assemble(module)
        return self._profiler

    def touch(self, address: int, size: int) -> None:
        """A copy or fill has written there: that is what L2 holds now."""
        if self._profiler is not None and size:
            found = self.memory.find(address)
            if found is not None and found.inside:
                self._profiler.residency.touch({found.start: float(size)})

    # -- modules -----------------------------------------------------------------------------------

    def load_module(self, texts: list[str]) -> Module:
        """Link PTX texts and place their variables in device memory."""
        from evoengineer.sim.codegen.program import link

        linked = link(texts)
        self._active_profiler(linked)
        return place_module(linked, self.memory)

    def unload_module(self, module: Module) -> None:
        for variable in module.variables.values():
            self.memory.free(variable.address)

    # -- launches ------------------------------------------------------------------------------------

    def image(self, module: Module, kernel: str, block: tuple[int, int, int]) -> KernelImage:
        """The kernel compiled for this block shape."""
        check_access = bool(self.options.checks & {"race", "init"})
        key = (kernel, block, check_access)
        if key not in module.images:
            from evoengineer.sim.codegen.image import KernelImage
            from evoengineer.sim.codegen.program import refuse_unsupported

            refuse_unsupported(module.linked.functions[kernel])
            module.images[key] = KernelImage(
                module.linked, kernel, block, self.mode, check_access, self.card.sm_count
            )
        return module.images[key]

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
        image = self.image(module, kernel, block)
        shared_bytes = image.plan.shared_bytes + dynamic_shared_bytes
        info = module.kernels[kernel]
        key: Hashable = None
        samples: tuple[int, ...] = ()
        buffers: tuple[int, ...] = ()
        profiler = self._active_profiler(module.linked)
        if profiler is not None:
            words = tuple(zip(info.param_offsets, info.param_sizes, strict=True))
            key = profiler.key(image, grid, shared_bytes, params, words)
            buffers = profiler.buffers(params, words)
            if not options.reuse_profiles:  # what a kernel does may hang on memory that the key does not see
                self._counted += 1
                key = (key, self._counted)
            samples = () if profiler.known(key) else profiler.samples(grid)
        c.memmove(self._params, params, len(params))
        if cooperative:
            c.memset(self._workspace, 0, _WORKSPACE_BYTES)
        request = self._request(module, image)
        request.grid[:], request.block[:] = grid, block
        request.shared_bytes = shared_bytes
        request.flags = self._flags(image, cooperative)
        request.threads, request.max_resident = options.threads, self._resident(block)
        request.tick_limit = options.limits.max_instructions
        request.wall_limit_seconds = options.limits.max_seconds
        request.symbols[0] = self._workspace if cooperative else 0  # GRID_WORKSPACE
        request.clock_start = clock_cycles
        self._count(request, image, samples, cooperative)
        if launch(request):
            error = request.error
            report = describe(error, image, grid, block)
            raise DeviceError(
                report.splitlines()[0], report, cuda_error(error.code), abi.ERROR_NAMES[error.code]
            )
        profile = None
        if profiler is not None:
            if samples:
                resources = profiler.resources(image, info.registers)
                from evoengineer.sim.timing.shape import Shape

                shape = Shape(grid, block, shared_bytes, resources, self.card)
                profiler.measure(key, shape, image, samples, buffers)
            profile = profiler.evaluate(key, kernel, buffers)
        return LaunchResult(profile.time_ns if profile else self._rough_ns(image, grid, block), profile)

    def _count(
        self, request: structs.Launch, image: KernelImage, samples: tuple[int, ...], cooperative: bool
    ) -> None:
        """Have the runtime count these blocks, and run nothing else if that is asked for."""
        request.sample_count = len(samples)
        request.count_total = image.block_count
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
            chosen = self._chosen(samples, request.grid[0] * request.grid[1] * request.grid[2])
            request.chosen, request.chosen_count = (c.c_uint64 * len(chosen))(*chosen), len(chosen)

    def _chosen(self, samples: tuple[int, ...], blocks: int) -> list[int]:
        """The samples, and blocks that nobody could have guessed."""
        extra = self._chance.sample(range(blocks), min(self.options.extra_blocks, blocks))
        return sorted({*samples, *extra})

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
            )
        return image.request

    def _flags(self, image: KernelImage, cooperative: bool) -> int:
        flags = image.plan.flags
        if cooperative:
            flags |= abi.COOPERATIVE | abi.SPINS | abi.ORDERED | abi.USES_BARRIER
        if image.check_access:
            flags |= abi.CHECK_ACCESS
        flags |= abi.CHECK_RACE if "race" in self.options.checks else 0
        flags |= abi.CHECK_INIT if "init" in self.options.checks else 0
        flags |= abi.REVERSED if self.options.block_order == "reversed" else 0
        return flags

    def _resident(self, block: tuple[int, int, int]) -> int:
        threads = block[0] * block[1] * block[2]
        return max(1, self.card.sm_count * (self.card.max_threads_per_sm // max(threads, 1)))

    def _rough_ns(self, image: KernelImage, grid: tuple[int, int, int], block: tuple[int, int, int]) -> float:
        """Without counting: every thread runs every PTX instruction once, at the card's peak rate."""
        threads = grid[0] * grid[1] * grid[2] * block[0] * block[1] * block[2]
        rate = self.card.sm_count * 128 * self.card.clock_khz * 1e3
        return 2000.0 + threads * image.plan.instructions / rate * 1e9
