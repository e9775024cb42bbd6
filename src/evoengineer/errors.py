"""Every error that EvoEngineer raises on purpose.

    EvoEngineerError            exit code 1
    ├── UsageError              exit code 2: a wrong argument, file or device name
    ├── ToolchainError          no usable CUDA compiler or host C++ compiler, or our own C++ does not build
    ├── CompileError            nvcc refused the program; `log` holds what it said
    ├── PtxError                PTX text that the simulated GPU cannot read
    ├── SandboxError            this machine cannot isolate a program, or could not start it isolated
    ├── EnvironmentFailure      the machine failed us: a full disk, no memory, a signal; nothing was judged
    ├── UnsupportedError        something CUDA has and the simulated GPU has not, by name
    └── DeviceError             a kernel or a device call failed; `report` holds the finding

A message says what is wrong, with which value, and how to mend it. A *candidate's* failure is data (a
verdict), not one of these: they are raised where a person or a program asked for something that
cannot be done.
"""

import difflib
from collections.abc import Iterable


class EvoEngineerError(Exception):
    """Base of all; the command line prints the message, never a traceback."""

    exit_code = 1

    @property
    def details(self) -> str:
        """Longer text that belongs to the message: a compiler's log, a device's report."""
        return ""


class UsageError(EvoEngineerError):
    """The request itself is wrong; nothing was run."""

    exit_code = 2


class ToolchainError(EvoEngineerError):
    """A compiler is missing or unusable, or our own C++ parts do not build with it."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log

    @property
    def details(self) -> str:
        return self.log


class CompileError(EvoEngineerError):
    """The compiler refused a program."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log

    @property
    def details(self) -> str:
        return self.log


class PtxError(EvoEngineerError):
    """PTX text that cannot be read: malformed, or written in a way nvcc does not."""


class SandboxError(EvoEngineerError):
    """The sandbox cannot be made as asked; `stage` is the step of the launcher that failed, if it was one."""

    def __init__(self, message: str, log: str = "", stage: str = "", errno: int = 0) -> None:
        super().__init__(message)
        self.log = log
        self.stage = stage
        self.errno = errno

    @property
    def details(self) -> str:
        return self.log


class EnvironmentFailure(EvoEngineerError):
    """The machine, not the candidate, is at fault. Nothing is charged or kept; the run can be resumed."""


class UnsupportedError(EvoEngineerError):
    """A feature of CUDA that the simulated GPU does not have; the message names it."""


class DeviceError(EvoEngineerError):
    """A launch, a copy or another device operation failed."""

    def __init__(self, message: str, report: str = "", code: int = 0, kind: str = "") -> None:
        super().__init__(message)
        self.report = report
        self.code = code  # CUDA's own error number (cudaError), 0 where there is none
        self.kind = kind  # what a kernel did wrong, in a word: out_of_bounds, race … ("" if it was no kernel)

    @property
    def details(self) -> str:
        return self.report


_FEW = 3  # longer words to offer at once


def did_you_mean(word: str, valid: Iterable[str], *, most: int = 1, prefix: str = "") -> str:
    """` (did you mean softmax?)` for a message about an unknown word; nothing when no valid one is close.

    Words that go on where it ends come first, if they are few: h100 is h100-pcie or h100-sxm."""
    known = list(valid)
    longer = [each for each in known if word and each.startswith(word)]
    found = longer if 0 < len(longer) <= _FEW else difflib.get_close_matches(word, known, n=most)
    close = [prefix + each for each in found]
    return f" (did you mean {' or '.join(close)}?)" if close else ""


def check_names(what: str, given: Iterable[str], valid: Iterable[str]) -> None:
    """Refuse the first name that is not valid, with a hint and the names that are."""
    known = list(valid)
    for name in given:
        if name not in known:
            raise UsageError(
                f"{what}: unknown key {name!r}{did_you_mean(name, known)}; valid: {', '.join(known)}"
            )
