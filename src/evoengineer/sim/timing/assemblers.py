"""ptxas on the modules of a device, one run per PTX text."""

from __future__ import annotations

from evoengineer.sim.codegen.program import LinkedModule
from evoengineer.sim.timing.ptxas import Assembler, Assembly

_NOTHING = Assembly({}, b"")


class Assemblers:
    def __init__(self, sm: int) -> None:
        self._sm = sm
        self._of: dict[str, Assembler] = {}

    def start(self, module: LinkedModule) -> None:
        """In the background; texts without a kernel are left to those that have one."""
        for text in module.texts:
            if text not in self._of and ".entry" in text:
                self._of[text] = Assembler(text, self._sm)

    def assembly(self, text: str) -> Assembly:
        """Waits for what ptxas makes of a text."""
        assembler = self._of.get(text)
        return assembler.result() if assembler else _NOTHING

    def of_kernel(self, module: LinkedModule, kernel: str) -> Assembly:
        """What it has made of the text that defines a kernel."""
        return self.assembly(module.texts[module.text_of.get(kernel, 0)])
