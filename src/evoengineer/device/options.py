"""How a simulated GPU runs: what it checks, how long a kernel may take, how many threads it uses.

These are plain values, given on the command line or in Python and handed to the device process as they are.
"""

import difflib
import os
from dataclasses import dataclass

from evoengineer.errors import UsageError

# In the order in which help texts list them.
CHECKS = {
    "memory": "out-of-bounds, misaligned and freed addresses (on by default)",
    "race": "shared-memory races between threads without a barrier",
    "init": "reads of memory that nobody has written",
    "sync": "shuffles, votes and barriers whose members are missing",
}
DEFAULT_CHECKS = frozenset({"memory"})


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one kernel launch; a kernel that exceeds one is stopped and reported. 0 means none."""

    max_instructions: int = 0  # back edges of loops, per warp
    max_seconds: float = 0.0  # wall-clock time


@dataclass(frozen=True, slots=True)
class DeviceOptions:
    device: str
    threads: int
    checks: frozenset[str] = DEFAULT_CHECKS
    limits: Limits = Limits()


def parse_checks(text: str) -> frozenset[str]:
    """`race,init` → the set of checks to make. `memory` stays on unless `none` is the only word."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    if words == ["none"]:
        return frozenset()
    for word in words:
        if word == "none":
            raise UsageError("--check: 'none' stands alone; leave out the other names or 'none'")
        if word != "all" and word not in CHECKS:
            valid = [*CHECKS, "all", "none"]
            close = difflib.get_close_matches(word, valid, n=1)
            hint = f" (did you mean {close[0]}?)" if close else ""
            raise UsageError(f"--check: unknown check {word!r}{hint}; valid: {', '.join(valid)}")
    if not words:
        raise UsageError(f"--check: no check named; valid: {', '.join([*CHECKS, 'all', 'none'])}")
    chosen = set(CHECKS) if "all" in words else set(words)
    return frozenset(chosen) | DEFAULT_CHECKS


def default_threads() -> int:
    """As many as this process may use cores."""
    return len(os.sched_getaffinity(0))
