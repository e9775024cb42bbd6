"""The simulated GPU's engine: modules in, launches run, errors explained.

Owned by the device process (server.py). It knows kernels and memory; streams, events and the wire protocol
are the server's.
"""

from __future__ import annotations

import ctypes as c
import os
import random
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evoengineer.card.occupancy import DEFAULT_REGISTERS
from evoengineer.card.profile import Profile
from evoengineer.errors import DeviceError, UsageError
from evoengineer.sim.codegen import abi
from evoengineer.sim.engine.report import cuda_error, describe
from evoengineer.sim.engine.undefined_results import UndefinedResults
from evoengineer.sim.runtime import structs
from evoengineer.sim.runtime.native import Memory, launch, load_runtime

# What reads and translates PTX is imported when there is some (or by `warm_up`): it takes longer than all the
# rest of a device's start.
if TYPE_CHECKING:
    from evoengineer.sim.codegen.image import KernelImage
    from evoengineer.sim.codegen.program import LinkedModule
    from evoengineer.sim.ptx.model import Function
    from evoengineer.sim.timing.profile import LaunchProfile
    from evoengineer.sim.timing.profiler import Profiler

CHECKS = ("memory", "race", "init")
MODES = ("optimised", "varying")
MODE_VARIABLE = "EVOENGINEER_SIM_MODE"
REGISTER_FILE = 65536  # 32-bit registers a block may have, on every card since 2012


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """What the runtime API says of a kernel."""

    name: str
    param_offsets: tuple[int, ...]
    param_sizes: tuple[int, ...]
    param_bytes: int
    static_shared_bytes: int
    max_threads: int
    local_bytes: int
    const_bytes: int
    registers: int


@dataclass(frozen=True, slots=True)
class DeviceVariable:
    """A module variable in device memory."""

    address: int
    bytes: int
    space: str  # global or const


@dataclass(slots=True)
class Module:
    """A loaded module: linked text, variables in memory, kernels compiled so far."""

    linked: LinkedModule
    variables: dict[str, DeviceVariable]
    kernels: dict[str, KernelInfo]
    images: dict[tuple[str, tuple[int, int, int], bool, bool], KernelImage] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LaunchResult:
    """`elapsed_ns` is simulated time: the profile's, or a rough estimate where launches are not counted."""

    elapsed_ns: float
    compile_seconds: float
    profile: LaunchProfile | None = None


class Engine:
    """Modules, kernels and launches on one simulated card."""

    def __init__(
        self,
        profile: Profile,
        threads: int = 0,
        checks: frozenset[str] = frozenset({"memory"}),
        tick_limit: int = 0,
        wall_limit_seconds: float = 0.0,
        memory: Memory | None = None,
        sample_blocks: int = 0,
        sampled_only: bool = False,
    ) -> None:
        self.profile = profile
        self.threads = threads or len(os.sched_getaffinity(0))
        self.checks = checks
        self.tick_limit, self.wall_limit_seconds = tick_limit, wall_limit_seconds
        self.reversed_blocks = False  # the last block first: a result that depends on the order shows
        self.undefined_results = UndefinedResults()
        self.memory = memory or Memory()
        self.mode = os.environ.get(MODE_VARIABLE, "optimised")
        if self.mode not in MODES:
            raise UsageError(f"{MODE_VARIABLE}={self.mode!r} is none of {', '.join(MODES)}")
        load_runtime()
        self._profiler: Profiler | None = None
        self._sample_blocks, self._sampled_only = sample_blocks, sampled_only
        self._reuse_profiles, self._counted = True, 0
        self._extra_blocks, self._chance, self._sample_seed = 0, random.Random(0), 0
        self._params = self.memory.allocate(structs.CONSTANT, 32768)
        self._workspace = self.memory.allocate(structs.DEVICE, 4096)
        if "init" in checks:
            self.memory.track_initialised(True)
            self.memory.mark_initialised(self._params, 32768)
            self.memory.mark_initialised(self._workspace, 4096)

    @staticmethod
    def warm_up() -> None:
        """Import now what the first kernel needs."""
        from evoengineer.sim.codegen import image  # noqa: F401
        from evoengineer.sim.timing import profiler  # noqa: F401

    def set_sampling(
        self,
        sample_blocks: int,
        sampled_only: bool,
        reuse_profiles: bool = True,
        extra_blocks: int = 0,
        extra_seed: int = 0,
        sample_seed: int = 0,
    ) -> None:
        """How many blocks of a grid are counted from now on (0: none), and whether only those run.

        Besides those, `extra_blocks` run that are drawn from `extra_seed`.

        Counting that begins anew finds cold caches and no earlier launch to take times from.
        """
        if sample_blocks and self._sample_blocks != sample_blocks:
            self._profiler = None
        self._sample_blocks, self._sampled_only = sample_blocks, sampled_only
        self._reuse_profiles = reuse_profiles
        self._extra_blocks, self._chance = extra_blocks, random.Random(extra_seed)
        self._sample_seed = sample_seed

    def _active_profiler(self, module: LinkedModule) -> Profiler | None:
        """What counts launches of the module; None while nothing is counted."""
        if not self._sample_blocks:
            return None
        if self._profiler is None:
            from evoengineer.sim.timing.profiler import Profiler

            self._profiler = Profiler(self.profile, self.memory, self._sample_blocks, self._sample_seed)
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
        variables: dict[str, DeviceVariable] = {}
        for name, variable in linked.variables.items():
            if variable.space in ("global", "const") and not (variable.external and variable.bytes == 0):
                kind = (
                    structs.CONSTANT
                    if variable.space == "const"
                    else structs.MANAGED
                    if variable.managed
                    else structs.SYMBOL
                )
                address = self.memory.allocate(kind, max(variable.bytes, 1))
                if not address:
                    raise DeviceError(
                        f"no device memory for variable {name} of {variable.bytes} bytes", code=2
                    )
                c.memset(address, 0, variable.bytes)
                self.memory.mark_initialised(address, variable.bytes)
                variables[name] = DeviceVariable(address, variable.bytes, variable.space)
        module = Module(linked, variables, {})
        self._initialise(module)
        for function in linked.kernels:
            if function.defined:
                module.kernels[function.name] = kernel_info(linked, function)
        return module

    def _initialise(self, module: Module) -> None:
        for name, variable in module.linked.variables.items():
            if name not in module.variables:
                continue
            start = module.variables[name].address
            for part in variable.init:
                size = 1 if part.symbol and part.shift >= 0 else 8 if part.symbol else len(part.data)
                if part.offset < 0 or part.offset + size > variable.bytes:
                    raise DeviceError(
                        f"variable {name}: initial values past its {variable.bytes} bytes", code=218
                    )
                if not part.symbol:
                    c.memmove(start + part.offset, part.data, len(part.data))
                    continue
                address = self._address_of(module, part.symbol) + part.addend
                if part.shift >= 0:
                    c.memmove(start + part.offset, bytes([address >> part.shift & 0xFF]), 1)
                else:
                    c.memmove(start + part.offset, (address & (1 << 64) - 1).to_bytes(8, "little"), 8)

    def _address_of(self, module: Module, symbol: str) -> int:
        if symbol in module.variables:
            return module.variables[symbol].address
        if symbol in module.linked.numbers:
            return abi.FUNCTION_BASE + 16 * module.linked.numbers[symbol]
        raise DeviceError(f"the module refers to {symbol!r}, which it does not define", code=218)

    def unload_module(self, module: Module) -> None:
        for variable in module.variables.values():
            self.memory.free(variable.address)

    # -- launches ------------------------------------------------------------------------------------

    def image(self, module: Module, kernel: str, block: tuple[int, int, int]) -> KernelImage:
        """The kernel compiled for this block shape."""
        check_access, check_init = bool(self.checks & {"race", "init"}), "init" in self.checks
        key = (kernel, block, check_access, check_init)
        if key not in module.images:
            from evoengineer.sim.codegen.image import KernelImage
            from evoengineer.sim.codegen.program import refuse_unsupported

            refuse_unsupported(module.linked.functions[kernel])
            module.images[key] = KernelImage(
                module.linked, kernel, block, self.mode, check_access, self.profile.sm_count, check_init
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
        known = len(module.images)
        image = self.image(module, kernel, block)
        shared_bytes = image.plan.shared_bytes + dynamic_shared_bytes
        info = module.kernels.get(kernel)
        key: Hashable = None
        samples: tuple[int, ...] = ()
        buffers: tuple[int, ...] = ()
        profiler = self._active_profiler(module.linked)
        if profiler is not None:
            words = tuple(zip(info.param_offsets, info.param_sizes, strict=True)) if info else ()
            key = profiler.key(image, grid, shared_bytes, params, words)
            buffers = profiler.buffers(params, words)
            if not self._reuse_profiles:  # what a kernel does may hang on memory that the key does not see
                self._counted += 1
                key = (key, self._counted)
            samples = () if profiler.known(key) else profiler.samples(grid)
        c.memmove(self._params, params, len(params))
        if cooperative:
            c.memset(self._workspace, 0, 4096)
        request = self._request(module, image)
        request.grid[:], request.block[:] = grid, block
        request.shared_bytes = shared_bytes
        request.flags = self._flags(image, cooperative)
        request.threads, request.max_resident = self.threads, self._resident(block)
        request.tick_limit, request.wall_limit_seconds = self.tick_limit, self.wall_limit_seconds
        request.symbols[0] = self._workspace if cooperative else 0  # GRID_WORKSPACE
        request.clock_start = clock_cycles
        self._count(request, image, samples, cooperative)
        if launch(request):
            error = request.error
            report = describe(error, image, grid, block)
            raise DeviceError(
                report.splitlines()[0], report, cuda_error(error.code), abi.ERROR_NAMES[error.code]
            )
        if image.check_init:
            self.undefined_results.note(self.memory.undefined_notes(), image)
        profile = None
        if profiler is not None:
            if samples:
                resources = profiler.resources(image, info.registers if info else DEFAULT_REGISTERS)
                from evoengineer.sim.timing.shape import Shape

                shape = Shape(grid, block, shared_bytes, resources, self.profile)
                profiler.measure(key, shape, image, samples, buffers)
            profile = profiler.evaluate(key, kernel, buffers)
        elapsed_ns = profile.time_ns if profile else self._rough_ns(image, grid, block)
        return LaunchResult(elapsed_ns, image.compile_seconds if len(module.images) > known else 0.0, profile)

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
        if self._sampled_only and not cooperative and not request.flags & abi.SPINS:
            request.flags |= abi.SAMPLED_ONLY
            chosen = self._chosen(samples, request.grid[0] * request.grid[1] * request.grid[2])
            request.chosen, request.chosen_count = (c.c_uint64 * len(chosen))(*chosen), len(chosen)

    def _chosen(self, samples: tuple[int, ...], blocks: int) -> list[int]:
        """The samples, and blocks that nobody could have guessed."""
        extra = (
            self._chance.sample(range(blocks), min(self._extra_blocks, blocks)) if self._extra_blocks else []
        )
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
        flags |= abi.CHECK_RACE if "race" in self.checks else 0
        flags |= abi.CHECK_INIT if "init" in self.checks else 0
        flags |= abi.REVERSED if self.reversed_blocks else 0
        return flags

    def _resident(self, block: tuple[int, int, int]) -> int:
        threads = block[0] * block[1] * block[2]
        return max(1, self.profile.sm_count * (self.profile.max_threads_per_sm // max(threads, 1)))

    def _rough_ns(self, image: KernelImage, grid: tuple[int, int, int], block: tuple[int, int, int]) -> float:
        """Without counting: every thread runs every PTX instruction once, at the card's peak rate."""
        threads = grid[0] * grid[1] * grid[2] * block[0] * block[1] * block[2]
        rate = self.profile.sm_count * 128 * self.profile.clock_khz * 1e3
        return 2000.0 + threads * image.plan.instructions / rate * 1e9


def kernel_info(linked: LinkedModule, function: Function) -> KernelInfo:
    """Sizes that can be read off the text without compiling."""
    offsets, end = [], 0
    for param in function.params:
        end = -(-end // param.align) * param.align
        offsets.append(end)
        end += param.bytes
    from evoengineer.sim.ptx.body import parse_body

    body = parse_body(function)
    shared = sum(v.bytes for v in body.variables if v.space == "shared")
    local = sum(v.bytes for v in body.variables if v.space == "local")
    const = sum(v.bytes for v in linked.variables.values() if v.space == "const")
    # ptxas is not asked: a guess, but never so many that a block of the largest size could not start.
    most = REGISTER_FILE // (function.max_threads or 1024) // 8 * 8
    registers = min(255, most, max(16, len(body.registers) // 4))
    return KernelInfo(
        function.name,
        tuple(offsets),
        tuple(p.bytes for p in function.params),
        end,
        shared,
        function.max_threads or 1024,
        local,
        const,
        registers,
    )
