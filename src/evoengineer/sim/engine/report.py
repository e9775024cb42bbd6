"""ErrorRecord → a report that a developer can act on, and CUDA's own error number."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from evoengineer.sim.codegen import abi
from evoengineer.sim.runtime.structs import STATE_FREED, ErrorRecord
from evoengineer.toolchain.demangle import demangle

if TYPE_CHECKING:
    from evoengineer.sim.codegen.image import KernelImage

_SPACES = {0: "generic", 1: "__global__", 2: "__shared__", 3: "__local__", 4: "__constant__", 5: "parameter"}
_ACCESS = {abi.LOAD: "read", abi.STORE: "write", abi.ATOMIC: "atomic", abi.NO_ACCESS: "access"}
_CUDA_ERRORS = {
    "out_of_bounds": 700, "freed": 700, "misaligned": 716, "uninitialised": 719, "race": 719, "barrier_divergence": 719,
    "deadlock": 702, "missing_members": 719, "instruction_budget": 702, "wall_limit": 702, "trap": 719, "assert": 710,
    "stack_overflow": 719, "invalid_call": 718, "illegal_instruction": 715, "write_to_const": 700, "invalid_free": 719,
    "unsupported": 801,
}  # fmt: skip
_TITLES = {
    "barrier_divergence": "Barrier not reached by all threads", "deadlock": "Deadlock",
    "missing_members": "Missing members",
    "instruction_budget": "Instruction budget exceeded", "wall_limit": "Time limit exceeded", "trap": "Trap",
    "assert": "Assertion failed", "stack_overflow": "Stack overflow", "invalid_call": "Invalid function pointer",
    "illegal_instruction": "Illegal instruction", "invalid_free": "Invalid free", "unsupported": "Not supported",
}  # fmt: skip


def cuda_error(code: int) -> int:
    """CUDA's number for an error, 719 (launch failure) when it has none of its own."""
    return _CUDA_ERRORS.get(abi.ERROR_NAMES[code], 719)


def describe(
    error: ErrorRecord, image: KernelImage, grid: tuple[int, int, int], block: tuple[int, int, int]
) -> str:
    """The report: what, where in the source, which thread, what lies at the address."""
    name = abi.ERROR_NAMES[error.code]
    text = error.text.decode(errors="replace").strip()
    lines = [_headline(name, error, text)]
    function = next((f.name for f in image.plan.functions if f.number == error.function), image.kernel)
    place = source_line(image, error.site)
    lines.append(f"    at {demangle(function)}{f' in {place}' if place else ''}")
    if function != image.kernel:
        lines.append(f"    called from kernel {demangle(image.kernel)}")
    if name != "instruction_budget":  # it belongs to all of them together
        lines.append(f"    by thread {triple(error.tid)} in block {triple(error.ctaid)}")
    if bin(error.lanes).count("1") > 1:
        lines.append(f"    lanes of the warp concerned: 0x{error.lanes:08x}")
    if name == "race":
        other = source_line(image, error.other_site)
        block_of = f" in block {triple(error.other_ctaid)}" if error.space != abi.SPACES["shared"] else ""
        lines.append(f"    with thread {triple(error.other_tid)}{block_of}{f' in {other}' if other else ''}")
    if name == "barrier_divergence" and (other := source_line(image, error.other_site)):
        lines.append(f"    the others wait in {other}")
    if name == "uninitialised":
        place = source_line(image, error.other_site)
        lines.append(f"    {text}{f' in {place}' if place else ''}")
    lines += _memory_lines(name, error)
    if name in ("wall_limit", "instruction_budget"):
        option = "--max-seconds" if name == "wall_limit" else "--max-instructions"
        lines.append(f"    {option} sets this limit; 0 means none")
    if text and text not in lines[0] and name != "uninitialised" and not _memory_lines(name, error):
        lines += [f"    {line}" for line in text.splitlines()]
    instruction = image.plan.sites[error.site].text if error.site < len(image.plan.sites) else ""
    if instruction:
        lines.append(f"    PTX: {instruction}")
    lines.append(f"    grid {triple(grid)}, block {triple(block)}")
    return "\n".join(f"========= {line}" for line in lines)


def _headline(name: str, error: ErrorRecord, text: str) -> str:
    space, access = _SPACES.get(error.space, "memory"), _ACCESS.get(error.access, "access")
    size = f"of size {error.bytes} bytes"
    match name:
        case "out_of_bounds":
            return f"Invalid {space} {access} {size}"
        case "misaligned":
            return f"Misaligned {space} {access} {size}"
        case "freed":
            return f"Use of freed memory: {space} {access} {size}"
        case "uninitialised":
            return f"Uninitialised {space} {access} {size}"
        case "race":
            if "at once" in text:
                return f"Race on {space} memory: two threads of a warp write {error.bytes} bytes at once, unlike values"
            missing = "a barrier" if error.space == abi.SPACES["shared"] else "synchronisation"
            return f"Race on {space} memory: {access} {size} without {missing} between two threads"
        case "write_to_const":
            what = "an input" if text.startswith("inputs") else "constant memory"
            return f"Write to {what}: {access} {size}"
    title = _TITLES[name]
    first = text.splitlines()[0] if text else ""
    return f"{title}: {first}" if first else title


def _memory_lines(name: str, error: ErrorRecord) -> list[str]:
    if (
        name not in ("out_of_bounds", "misaligned", "freed", "uninitialised", "race", "write_to_const")
        or not error.bytes
    ):
        return []
    address = f"Address 0x{error.address:x}"
    if not error.allocation_bytes and not error.allocation:
        if error.space == abi.SPACES["shared"]:
            return [f"    {address} in shared memory"]
        return [f"    {address} is in no allocation; nothing is allocated near it"]
    start, size = error.allocation, error.allocation_bytes
    what = "freed allocation" if error.allocation_state == STATE_FREED else "allocation"
    if error.space == abi.SPACES["shared"]:
        what = "block's shared memory"
    elif error.space == abi.SPACES["local"]:
        what = "thread's local memory"
    if error.address < start:
        before = start - error.address
        return [
            f"    {address} is {before} bytes before the nearest {what} at 0x{start:x} of size {size} bytes"
        ]
    if error.address >= start + size:
        past = error.address - start - size
        return [f"    {address} is {past} bytes after the nearest {what} at 0x{start:x} of size {size} bytes"]
    return [
        f"    {address} is {error.address - start} bytes inside the {what} at 0x{start:x} of size {size} bytes"
    ]


def source_line(image: KernelImage, site: int) -> str:
    if site >= len(image.plan.sites):
        return ""
    info = image.plan.sites[site]
    return f"{Path(info.file).name}:{info.line}" if info.line and info.file else ""


def triple(values: Iterable[int]) -> str:
    return "(" + ",".join(str(value) for value in values) + ")"
