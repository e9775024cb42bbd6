"""Undefined bits that kernels have put into device memory (--check init): which store, of what was read where.

Whether a result is defined is asked after the launch, by whoever knows which memory is a result.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from evoengineer.sim.engine.report import source_line, triple
from evoengineer.sim.runtime.structs import UndefinedNote
from evoengineer.toolchain.demangle import demangle

if TYPE_CHECKING:
    from evoengineer.sim.codegen.image import KernelImage

_MOST = 1 << 16


class UndefinedResults:
    """The latest store of undefined bits to each address, in words."""

    def __init__(self) -> None:
        self._stores: dict[int, tuple[int, str]] = {}  # address → bytes, words

    def note(self, notes: list[UndefinedNote], image: KernelImage) -> None:
        if len(self._stores) > _MOST:
            self._stores.clear()
        for note in notes:
            self._stores[note.address] = (note.bytes, _describe(note, image))

    def within(self, start: int, end: int) -> Iterator[tuple[int, str]]:
        """Address and words of the stores between two addresses, in order; not all, where a launch had very many."""
        for address in sorted(each for each in self._stores if start <= each < end):
            yield address, self._stores[address][1]

    def describe(self, address: int) -> str:
        """How undefined bits came to this address; nothing if no kernel has written there."""
        for start in range(address, address - 64, -1):
            found = self._stores.get(start)
            if found is not None and address < start + found[0]:
                return found[1]
        return ""


def _describe(note: UndefinedNote, image: KernelImage) -> str:
    name = next((f.name for f in image.plan.functions if f.number == note.function), image.kernel)
    place, read = source_line(image, note.site), source_line(image, note.read_site)
    lines = ["Uninitialised result: the value stored comes from memory that nobody has written"]
    lines.append(f"    at {demangle(name)}{f' in {place}' if place else ''}")
    lines.append(f"    by thread {triple(note.tid)} in block {triple(note.ctaid)}")
    if read:
        lines.append(f"    the value was read in {read}")
    for site in (note.read_site, note.site):
        if site < len(image.plan.sites):
            lines.append(f"    PTX: {image.plan.sites[site].text}")
    return "\n".join(f"========= {line}" for line in lines)
