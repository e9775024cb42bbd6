"""Modules: linked PTX, its variables in device memory, and what the runtime API says of its kernels."""

from __future__ import annotations

import ctypes as c
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evoengineer.errors import DeviceError
from evoengineer.sim.codegen import abi
from evoengineer.sim.runtime import structs
from evoengineer.sim.runtime.native import Memory
from evoengineer.sim.wire.protocol import CudaError

# What reads and translates PTX is imported when there is some: it takes longer than the rest of a device's start.
if TYPE_CHECKING:
    from evoengineer.sim.codegen.image import KernelImage
    from evoengineer.sim.codegen.program import LinkedModule
    from evoengineer.sim.ptx.model import Function

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
    images: dict[tuple[str, tuple[int, int, int], bool, bool, bool], KernelImage] = field(
        default_factory=dict
    )


def place_module(linked: LinkedModule, memory: Memory) -> Module:
    """Give a module's variables memory and their initial values."""
    variables: dict[str, DeviceVariable] = {}
    for name, variable in linked.variables.items():
        if variable.space not in ("global", "const") or (variable.external and variable.bytes == 0):
            continue
        kind = structs.MANAGED if variable.managed else structs.SYMBOL
        kind = structs.CONSTANT if variable.space == "const" else kind
        address = memory.allocate(kind, max(variable.bytes, 1))
        if not address:
            raise DeviceError(
                f"no device memory for variable {name} of {variable.bytes} bytes",
                code=CudaError.OUT_OF_MEMORY,
            )
        c.memset(address, 0, variable.bytes)
        memory.mark_initialised(address, variable.bytes)
        variables[name] = DeviceVariable(address, variable.bytes, variable.space)
    module = Module(linked, variables, {f.name: _kernel_info(linked, f) for f in linked.kernels if f.defined})
    _initialise(module)
    return module


def _initialise(module: Module) -> None:
    for name, placed in module.variables.items():
        for part in module.linked.variables[name].init:
            size = 1 if part.symbol and part.shift >= 0 else 8 if part.symbol else len(part.data)
            if part.offset < 0 or part.offset + size > placed.bytes:
                raise DeviceError(
                    f"variable {name}: initial values past its {placed.bytes} bytes",
                    code=CudaError.INVALID_PTX,
                )
            data = part.data
            if part.symbol:
                address = _address_of(module, part.symbol) + part.addend
                data = (address >> max(part.shift, 0) & (1 << 8 * size) - 1).to_bytes(size, "little")
            c.memmove(placed.address + part.offset, data, size)


def _address_of(module: Module, symbol: str) -> int:
    if symbol in module.variables:
        return module.variables[symbol].address
    if symbol in module.linked.numbers:
        return abi.FUNCTION_BASE + 16 * module.linked.numbers[symbol]
    raise DeviceError(
        f"the module refers to {symbol!r}, which it does not define", code=CudaError.INVALID_PTX
    )


def _kernel_info(linked: LinkedModule, function: Function) -> KernelInfo:
    """Sizes that can be read off the text without compiling."""
    from evoengineer.sim.ptx.body import parse_body

    offsets, end = [], 0
    for param in function.params:
        end = -(-end // param.align) * param.align
        offsets.append(end)
        end += param.bytes
    body = parse_body(function)
    # ptxas is not asked: a guess, but never so many that a block of the largest size could not start.
    most = REGISTER_FILE // (function.max_threads or 1024) // 8 * 8
    return KernelInfo(
        name=function.name,
        param_offsets=tuple(offsets),
        param_sizes=tuple(p.bytes for p in function.params),
        param_bytes=end,
        static_shared_bytes=sum(v.bytes for v in body.variables if v.space == "shared"),
        max_threads=function.max_threads or 1024,
        local_bytes=sum(v.bytes for v in body.variables if v.space == "local"),
        const_bytes=sum(v.bytes for v in linked.variables.values() if v.space == "const"),
        registers=min(255, most, max(16, len(body.registers) // 4)),
    )
