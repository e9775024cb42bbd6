"""How long an access takes, given what it asks for and the rates of the card."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from evoengineer.card.profile import load_profile
from evoengineer.sim.timing import opcodes
from evoengineer.sim.timing.counters import SiteCache, SiteCount
from evoengineer.sim.timing.latency import Latencies
from evoengineer.sim.timing.memory import Traffic
from evoengineer.sim.timing.model import CONSTANTS
from evoengineer.sim.timing.sass import MachineInstr


def _of(key: str, count: SiteCount, operation: int, pipe: str) -> float:
    """Clocks of an instruction whose site did that, all of it in L1 or in shared memory."""
    code = SimpleNamespace(site_of_line={1: 0}, atomic_sites=frozenset(), bypasses=lambda site: False)
    cache = SiteCache(1.0, 0.0, 0.0, 0.0, 0.0, (count.requests[0], 0.0, 0.0), 0)
    measured = SimpleNamespace(
        shape=SimpleNamespace(card=load_profile(key), warps=8),
        code=code,
        counters=SimpleNamespace(sites=(count,)),
        caches=(cache,),
    )
    traffic = Traffic(0.0, 0.0, 0.0, 0.0, 0.0, {}, {}, {}, {}, {}, {}, 0.0)
    instr = MachineInstr(operation, pipe, 1, 0, -1, 0, 1, 4, False, -1)
    return Latencies(cast(Any, measured), traffic, CONSTANTS).of(instr)[0]


@pytest.mark.parametrize("key", ["t4", "v100", "rtx4090"])
@pytest.mark.parametrize("passes", [1, 2, 32])
def test_the_last_lane_waits_for_all_passes_at_the_rate_of_the_card(key: str, passes: int) -> None:
    card = load_profile(key)
    banks = SiteCount((0.0, 1.0, 0.0, 0.0), 32.0, 0.0, 0.0, float(passes), 1.0, 0.0, 0, 0.0)
    lines = SiteCount(
        (1.0, 0.0, 0.0, 0.0), 32.0, float(passes), float(passes), 0.0, 0.0, 0.0, 0, float(passes)
    )
    shared = passes * 128 / card.shared_bytes_per_clock
    assert _of(key, banks, opcodes.LDS, "shared") == card.shared_latency + shared - 1
    cached = passes * 128 / card.l1_bytes_per_clock
    assert _of(key, lines, opcodes.LDG, "global") == card.l1_latency + cached - 1
