"""What a kernel occupies, as ptxas reports it: registers, spills, shared memory."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from evoengineer.toolchain.demangle import demangled
from evoengineer.toolchain.ptxas import Usage, parse_usage


@dataclass(frozen=True, slots=True)
class KernelResources(Usage):
    """Of one `__global__` function, with its name as the source has it."""

    name: str


def parse_resources(log: str) -> tuple[KernelResources, ...]:
    """From the output of `ptxas -v`, in its order."""
    found = parse_usage(log)
    names = demangled(each.symbol for each in found)
    return tuple(KernelResources(**asdict(each), name=names[each.symbol]) for each in found)
