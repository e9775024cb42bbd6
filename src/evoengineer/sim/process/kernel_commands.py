"""Commands about modules and kernels: loading, launching, asking for occupancy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from evoengineer.card.occupancy import KernelResources, blocks_per_multiprocessor
from evoengineer.errors import DeviceError, EvoEngineerError, PtxError, UnsupportedError
from evoengineer.sim.engine.modules import KernelInfo, Module
from evoengineer.sim.process import guards
from evoengineer.sim.process.call_error import CallError
from evoengineer.sim.process.context import Context
from evoengineer.sim.process.region import LaunchRecord
from evoengineer.sim.ptx.fatbin import ptx_of
from evoengineer.sim.wire import protocol
from evoengineer.sim.wire.protocol import CudaError, Op


@dataclass(frozen=True, slots=True)
class _Loaded:
    module: Module
    kernel: KernelInfo


class KernelCommands:
    def __init__(self, context: Context) -> None:
        self._context = context
        self.handlers: dict[int, Callable[[memoryview], bytes | None]] = {
            Op.MODULE_LOAD: self._load,
            Op.MODULE_UNLOAD: self._unload,
            Op.LAUNCH: self._launch,
            Op.OCCUPANCY: self._occupancy,
        }
        self.forget()

    def forget(self) -> None:
        self._modules: dict[int, Module] = {}
        self._kernels: dict[int, _Loaded] = {}
        self._next_module = self._next_kernel = 1

    # -- modules -----------------------------------------------------------------------------------

    def _load(self, payload: memoryview) -> bytes:
        count, _ = protocol.MODULE.unpack_from(payload)
        at = protocol.MODULE.size
        images = []
        for _ in range(count):
            (size,) = protocol.IMAGE.unpack_from(payload, at)
            at += protocol.IMAGE.size
            if size > len(payload) - at:
                raise CallError(CudaError.INVALID_IMAGE)
            images.append(bytes(payload[at : at + size]))
            at += size
        module = self._linked(images)
        number, self._next_module = self._next_module, self._next_module + 1
        self._modules[number] = module
        return self._describe(number, module)

    def _linked(self, images: list[bytes]) -> Module:
        context = self._context
        context.activity.module_loads += 1
        try:
            with guards.deadline(context.options.limits.max_seconds, "loading a module"):
                module = context.engine.load_module(self._texts(images))
            if any(info.param_bytes > guards.MOST_PARAMETER_BYTES for info in module.kernels.values()):
                raise UnsupportedError(
                    f"a kernel with more than {guards.MOST_PARAMETER_BYTES} bytes of parameters"
                )
            return module
        except (CallError, DeviceError):
            raise
        except EvoEngineerError as error:
            context.failed = True
            raise CallError(CudaError.INVALID_PTX, str(error)) from error
        except Exception as error:  # whatever a text that no compiler wrote makes our parser do
            context.failed = True
            raise CallError(
                CudaError.INVALID_PTX, f"PTX that cannot be read: {type(error).__name__}: {error}"
            ) from error

    def _texts(self, images: list[bytes]) -> list[str]:
        """PTX of the images. Machine code is no obstacle as long as PTX is there too."""
        texts: list[str] = []
        refusal: UnsupportedError | None = None
        for image in images:
            try:
                text = ptx_of(image, self._context.card.sm)
            except UnsupportedError as error:
                refusal = error
                continue
            except PtxError as error:
                raise CallError(CudaError.INVALID_IMAGE, str(error)) from error
            if text is not None:
                texts.append(text)
        if not texts and refusal:
            self._context.failed = True
            raise CallError(CudaError.NO_KERNEL_IMAGE, str(refusal))
        return texts

    def _describe(self, number: int, module: Module) -> bytes:
        parts = [protocol.MODULE_RESULT.pack(number, len(module.kernels), len(module.variables), 0)]
        for name, info in module.kernels.items():
            kernel, self._next_kernel = self._next_kernel, self._next_kernel + 1
            self._kernels[kernel] = _Loaded(module, info)
            text = name.encode()
            parts.append(
                protocol.KERNEL_RESULT.pack(
                    kernel, len(info.param_offsets), info.param_bytes, info.static_shared_bytes,
                    info.max_threads, info.registers, info.local_bytes, info.const_bytes, len(text), 0,
                )
            )  # fmt: skip
            sizes = zip(info.param_offsets, info.param_sizes, strict=True)
            parts.extend(protocol.PARAMETER.pack(offset, size) for offset, size in sizes)
            parts.append(text)
        for name, variable in module.variables.items():
            text = name.encode()
            space = protocol.VARIABLE_SPACES.index(variable.space)
            parts.append(
                protocol.VARIABLE_RESULT.pack(variable.address, variable.bytes, space, len(text)) + text
            )
        return b"".join(parts)

    def _unload(self, payload: memoryview) -> None:
        number, _ = protocol.MODULE.unpack(payload)
        module = self._modules.pop(number, None)
        if module is None:
            return
        self._kernels = {key: loaded for key, loaded in self._kernels.items() if loaded.module is not module}
        self._context.engine.unload_module(module)

    # -- kernels -----------------------------------------------------------------------------------

    def _launch(self, payload: memoryview) -> None:
        kernel, stream, *sizes, shared_bytes, cooperative = protocol.LAUNCH.unpack_from(payload)
        grid, block = (sizes[0], sizes[1], sizes[2]), (sizes[3], sizes[4], sizes[5])
        context, loaded = self._context, self._kernels.get(kernel)
        if loaded is None:
            raise DeviceError(
                "a kernel was launched whose module is no longer loaded", code=CudaError.INVALID_HANDLE
            )
        params = bytes(payload[protocol.LAUNCH.size :])
        problem = guards.launch_problem(context.card, loaded.kernel, grid, block, shared_bytes, len(params))
        if problem:
            raise CallError(problem)
        context.note("stream", stream)
        name = loaded.kernel.name
        with guards.deadline(context.options.limits.max_seconds, f"translating {name}"):
            static_bytes = context.engine.image(loaded.module, name, grid, block).plan.shared_bytes
        if static_bytes + shared_bytes > context.card.shared_bytes_per_block_optin:
            raise CallError(CudaError.INVALID_VALUE)
        if cooperative:
            room = context.engine.resident_blocks(loaded.kernel, block, static_bytes + shared_bytes)
            if grid[0] * grid[1] * grid[2] > room:
                raise CallError(CudaError.COOPERATIVE_TOO_LARGE)
        elapsed_ns, profile = None, None
        try:
            result = context.engine.launch(
                loaded.module, name, grid, block, shared_bytes, params, bool(cooperative),
                context.clock.cycles(stream),
            )  # fmt: skip
            elapsed_ns, profile = result.elapsed_ns, result.profile
        finally:
            context.activity.launched(LaunchRecord(name, grid, block, shared_bytes, elapsed_ns, profile))
        if profile is not None and context.options.profile_file:
            context.profiles.append(profile)
        context.clock.kernel(stream, elapsed_ns)

    def _occupancy(self, payload: memoryview) -> bytes:
        kernel, threads, shared_bytes = protocol.OCCUPANCY.unpack(payload)
        card, loaded = self._context.card, self._kernels.get(kernel)
        if loaded is None or not 1 <= threads <= card.max_threads_per_block:
            raise CallError(CudaError.INVALID_VALUE)
        info = loaded.kernel
        resources = KernelResources(threads, info.static_shared_bytes + shared_bytes, info.registers)
        return protocol.COUNT.pack(blocks_per_multiprocessor(card, resources))
