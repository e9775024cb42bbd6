"""The time of a launch, term by term.

    time = start + norm(norm(latency, pipe), dram, l2, atomics, dispatch)

- *latency*, *pipe*: what the busiest multiprocessor needs. A block alone takes the sum over its phases (stretches
  between barriers), each the longer of one warp's latency and the busiest pipe; R resident blocks overlap, so b blocks
  on one multiprocessor take the longer of ceil(b / R) such times and b times a block's use of the busiest pipe.
  (A block's own use of that pipe is part of the time it takes alone, and is taken out there.)
- *dram*, *l2*: bytes over the bandwidth that can be reached.
- *atomics*: updates of one address follow one another.
- *dispatch*: blocks start one after the other.

`norm` is a p-norm: close to the largest of its terms, a little above when two are alike, as resources never
overlap perfectly. Every term grows with the work in it, so that more work never takes less time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evoengineer.card.profile import Profile

_EVEN = 1.1  # blocks whose work differs by less take equally long
_WHOLE_ROUNDS = 8  # beyond so many rounds blocks no longer start and end together


@dataclass(frozen=True, slots=True)
class Constants:
    """The free constants, fitted on some chains of published measurements (docs/simulated-time.md says which)."""

    overlap: float = 4.0  # exponent of the norm when much runs side by side
    overlap_alone: float = 2.0  # the same for a single block that goes from barrier to barrier
    drift: float = 3.0  # trips to DRAM, about, in which a block's warps drift apart between barriers
    start_ns: float = 1800.0  # from the start of an empty kernel to its end
    block_start_clocks: float = 300.0  # before a block's first instruction
    dispatch_clocks: float = (
        1.75  # from the start of one block to that of the next, on whatever multiprocessor
    )
    dram_efficiency: float = 0.92  # of the peak, for reads
    write_penalty: float = 0.05  # a written byte costs so much more than one read
    piece_bytes: float = 56.0  # what a new place in DRAM costs, as if so many bytes more were moved
    visit_bytes: float = 90.0  # a visit of a channel takes as long as so many bytes, at least
    l2_efficiency: float = 0.8
    ecc_efficiency: float = 0.88  # what is left of GDDR's bandwidth when it carries check bits
    request_clocks: float = 1.5  # of the load/store unit, at least, for a warp's access to global memory
    far_latency: float = 1.1  # L2 and DRAM answer later under load than to a single request
    atomic_clocks: float = 4.6  # for a warp's updates of several addresses in one sector
    atomic_lane_clocks: float = 0.9  # for each of its updates of a single address
    atomic_float_clocks: float = 2.7  # the same for floating-point numbers
    barrier_clocks: float = 35.0  # from the last warp's arrival to the first that goes on
    pipe_efficiency: float = 0.85  # of the busiest pipe


CONSTANTS = Constants()


@dataclass(frozen=True, slots=True)
class Phase:
    """Between two barriers, for one block: clocks."""

    latency: float  # of its slowest warp, alone
    demand: float  # of the pipe it uses most
    meetings: float = 1.0  # how often it ends at a barrier


@dataclass(frozen=True, slots=True)
class Work:
    """What a launch asks of the card."""

    blocks: int
    resident: int  # blocks that fit on a multiprocessor
    phases: tuple[Phase, ...]
    pipes: dict[str, float]  # clocks of a multiprocessor that one block keeps each pipe busy
    l2_bytes: float  # whole grid, from and to L2
    dram_read: float
    dram_written: float
    dram_pieces: float  # contiguous stretches
    dram_visits: float  # of a channel
    atomic_clocks: float  # of the busiest line, whose updates follow one another
    contexts: float = 8.0  # parts of a multiprocessor's work that proceed independently
    askers: float = 8.0  # the same, of all that ask for what multiprocessors share
    warps: float = 8.0  # of a block, which proceed independently within a phase
    longest: float = 1.0  # work of the busiest block over that of the mean block
    peak_clocks: float = 0.0  # arithmetic of the whole grid at the card's peak


@dataclass(frozen=True, slots=True)
class Prediction:
    """The time of a launch and what it is made of."""

    time_ns: float
    terms: dict[str, float]  # ns, each as if it were alone
    shares: dict[str, float]  # of the time, summing to 1
    bound: str
    busiest_pipe: str
    rounds: float


def predict(work: Work, card: Profile, constants: Constants = CONSTANTS) -> Prediction:
    """The time of a launch on a card."""
    clocks_per_ns = card.clock_khz / 1e6
    exponent = overlap_exponent(work.contexts, constants)
    per_sm = whole(work.blocks / card.sm_count)
    resident = max(min(work.resident, math.ceil(per_sm)), 1)
    rounds = whole(work.blocks / (card.sm_count * resident))
    busiest = max(work.pipes, key=lambda name: (work.pipes[name], name), default="issue")
    use = work.pipes.get(busiest, 0.0) / constants.pipe_efficiency
    working = sum(
        norm(
            overlap_exponent(independent(work.warps, [p], card, constants), constants),
            p.latency,
            p.demand / constants.pipe_efficiency,
        )
        for p in work.phases
    )
    alone = constants.block_start_clocks + working
    pipe_ns = max(per_sm, rounds) * use / clocks_per_ns
    # The part of a block's time in which its busiest pipe rests: other resident blocks can fill it.
    resting = float(max(alone**exponent - use**exponent, 0.0) ** (1 / exponent))
    latency_ns = rounds * resting / clocks_per_ns
    moved = work.dram_read + (1 + constants.write_penalty) * work.dram_written
    # A channel opens another row, or goes back to one, no faster than it moves so many bytes.
    least = constants.visit_bytes * work.dram_visits - work.dram_read - work.dram_written
    moved += max(constants.piece_bytes * work.dram_pieces, least)
    efficiency = constants.dram_efficiency
    if card.ecc and not card.hbm:  # HBM keeps check bits beside the data
        efficiency *= constants.ecc_efficiency
    dram_ns = moved / (card.dram_bytes_per_second * efficiency) * 1e9
    l2_ns = work.l2_bytes / (card.l2_bytes_per_clock * constants.l2_efficiency) / clocks_per_ns
    own = {"latency": latency_ns, busiest: pipe_ns}
    shared = {
        "dispatch": work.blocks * constants.dispatch_clocks / clocks_per_ns,
        "dram": dram_ns,
        "l2": l2_ns,
        "atomics": work.atomic_clocks / clocks_per_ns,
    }
    terms = {**own, **shared}
    body = norm(overlap_exponent(work.askers, constants), norm(exponent, *own.values()), *shared.values())
    # Whatever overlaps, the busiest block takes its time, and no unit beats its peak.
    bounds = {"peak": work.peak_clocks}
    if work.longest > _EVEN:
        bounds["longest block"] = constants.block_start_clocks + work.longest * working
    for name, clocks in bounds.items():
        if clocks / clocks_per_ns > body:
            body = terms[name] = clocks / clocks_per_ns
    time_ns = constants.start_ns + body
    top = max(terms.values()) or 1.0
    powers = {name: (value / top) ** exponent for name, value in terms.items()}
    total = sum(powers.values()) or 1.0
    shares = {name: body / time_ns * power / total for name, power in powers.items()}
    shares["start"] = constants.start_ns / time_ns
    bound = max(shares, key=lambda name: (shares[name], name))
    return Prediction(time_ns, {**terms, "start": constants.start_ns}, shares, bound, busiest, rounds)


def independent(
    warps: float, phases: Sequence[Phase], card: Profile, constants: Constants = CONSTANTS
) -> float:
    """How many of a block's warps proceed independently: they begin together, and go on together from a barrier.

    Those that meet after every access to memory stay together; those that have many in between drift apart.
    """
    meeting = constants.drift * card.dram_latency
    together = sum(min(meeting * max(p.meetings, 1.0), p.latency) for p in phases)
    total = sum(p.latency for p in phases)
    return float(warps ** (1 - together / total)) if total else 1.0


def asking(contexts: float, rounds: float, card: Profile) -> float:
    """How many parts ask for DRAM and L2 independently. In a first round all multiprocessors do the same at the same
    time; with each further one they fall out of step."""
    return contexts * min(max(rounds, 1.0), card.sm_count)


def overlap_exponent(contexts: float, constants: Constants = CONSTANTS) -> float:
    """The fewer parts proceed independently, the more the terms add up."""
    spread = 1 - 1 / max(contexts, 1.0)
    return constants.overlap_alone + (constants.overlap - constants.overlap_alone) * spread


def norm(exponent: float, *values: float) -> float:
    """The p-norm: the largest value, a little more where others come near it."""
    top = max(values, default=0.0)
    if top <= 0:
        return 0.0
    total = sum((value / top) ** exponent for value in values)
    return float(top * total ** (1 / exponent))


def whole(rounds: float) -> float:
    """Few rounds end with a round that is not full; over many the ends blur."""
    return float(math.ceil(rounds)) if rounds <= _WHOLE_ROUNDS else rounds + 0.5
