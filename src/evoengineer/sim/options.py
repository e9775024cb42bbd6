"""How a simulated GPU runs: what it checks, how long a kernel may take, how many threads it uses.

These are plain values, given on the command line or in Python and handed to the device process as they are.
"""

import os
from dataclasses import dataclass

from evoengineer.errors import UsageError, did_you_mean

# In the order in which help texts list them.
CHECKS = {
    "memory": "out-of-bounds, misaligned and freed addresses (always on)",
    "sync": "barriers, shuffles and votes that not all threads reach (always on)",
    "race": "races between threads, in shared and in global memory",
    "init": "reads of memory that nobody has written",
}
# These cost little, and without them a broken kernel would end the device process or wait for ever.
DEFAULT_CHECKS = frozenset({"memory", "sync"})


# Enough for edges and for neighbours along every axis (timing/sampling.py).
DEFAULT_SAMPLE_BLOCKS = 12


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one kernel launch; a kernel that exceeds one is stopped and reported. 0 means none."""

    max_instructions: int = 0  # back edges of loops, per warp
    max_seconds: float = 60.0  # wall-clock time: a kernel without an end must not hang for ever


@dataclass(frozen=True, slots=True)
class DeviceOptions:
    device: str
    threads: int
    checks: frozenset[str] = DEFAULT_CHECKS
    limits: Limits = Limits()
    sample_blocks: int = (
        DEFAULT_SAMPLE_BLOCKS  # of a grid, counted for the timing model; 0: no simulated times
    )
    sample_seed: int = 0  # which blocks those are; 0: by their place in the grid alone
    sampled_only: bool = False  # run only those: results are partial, times are the same
    extra_blocks: int = 0  # that run besides the sampled ones, drawn from `extra_seed`
    extra_seed: int = 0
    reuse_profiles: bool = (
        True  # a launch like an earlier one takes its times; false: every launch is counted
    )
    poison: bool = False  # device memory is handed out full of ones: NaN in every floating-point format
    profile_file: str = ""  # where the device process leaves the profiles of all launches, as JSON


def parse_checks(text: str) -> frozenset[str]:
    """`race,init` → the set of checks to make. `all` adds every one, `none` stands alone and adds none."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    valid = [*CHECKS, "all", "none"]
    if not words:
        raise UsageError(f"--check: no check named; valid: {', '.join(valid)}")
    for word in words:
        if word not in valid:
            raise UsageError(
                f"--check: unknown check {word!r}{did_you_mean(word, valid)}; valid: {', '.join(valid)}"
            )
        if word == "none" and len(words) > 1:
            raise UsageError("--check: 'none' stands alone; leave out the other names or 'none'")
    chosen = CHECKS.keys() if "all" in words else CHECKS.keys() & set(words)
    return DEFAULT_CHECKS | chosen


def default_threads() -> int:
    """As many as this process may use cores."""
    return len(os.sched_getaffinity(0))
