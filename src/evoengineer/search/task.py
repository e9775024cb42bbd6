"""Task: I1's facts about one problem on one device, gathered once at the start of a run.

Owns how they read in a prompt. Everything here is part of the prompts, hence of the run's identity: a run
keeps its task in the archive and a resumed run uses that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from evoengineer.kernel.inline import Signature, signature_of

if TYPE_CHECKING:
    from evoengineer.card.profile import Profile

_ARGUMENT = re.compile(r"(\w+): (?:\w+ (tensor) \[([\d, ]*)\]|(\w+) .*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Task:
    """I1's facts."""

    name: str
    title: str
    reference: str  # PyTorch source
    arguments: tuple[str, ...]  # "x: float32 tensor [4096, 4096]"
    outputs: tuple[str, ...]
    cases: tuple[str, ...]  # sizes that the kernel is checked with
    device: str  # "sim:rtx4090"
    card: tuple[str, ...]  # lines about the card
    cuda: str  # "13.0"
    tolerance: str
    baseline: str = ""  # source; empty where the problem has none
    baseline_us: float | None = None
    simulated: bool = True
    timing: tuple[str, ...] = ()  # what a time means on this device
    light_us: float | None = None  # the least possible time of the bench case
    light_reason: str = ""  # what it follows from
    declaration: str = ""  # of `forward`, in C++
    bench: str = ""  # name of the bench case: its sizes
    notes: tuple[str, ...] = ()  # what the reference does not show
    inputs: str = ""  # what kinds of values the checks draw
    compiler: str = ""  # how a kernel is compiled
    reach_us: float | None = None  # about what a perfect kernel takes on this device; None: not known
    least_bytes: float | None = None  # that have to cross DRAM

    def with_baseline_time(self, time_us: float | None) -> Task:
        return replace(self, baseline_us=time_us)

    def signature(self) -> Signature:
        """What a kernel in Python's form is read for: the arguments as `describe_value` wrote them."""
        found = (_ARGUMENT.fullmatch(each) for each in self.arguments)
        values = [
            {
                "name": each[1],
                "kind": each[2] or each[4],
                **({"shape": each[3].split(",") if each[3] else []} if each[2] else {}),
            }
            for each in found
            if each
        ]
        return signature_of(values, self.reference)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Task:
        lists = ("arguments", "outputs", "cases", "card", "timing", "notes")
        values: dict[str, Any] = {name: tuple(v) if name in lists else v for name, v in data.items()}
        return cls(**values)


def describe_value(value: Mapping[str, Any]) -> str:
    """`x: float32 tensor [4096, 4096]` or `eps: float 1e-05`, from a problem's description."""
    name = f"{value['name']}: " if "name" in value else ""
    if value.get("kind") == "tensor":
        return f"{name}{value['dtype']} tensor {list(value['shape'])}"
    return f"{name}{value.get('kind')} {value.get('value')}"


_CPP_TYPES = {
    "tensor": "torch::Tensor",
    "float": "double",
    "int": "int64_t",
    "bool": "bool",
    "str": "std::string",
}


def declaration_of(arguments: Sequence[Mapping[str, Any]], outputs: Sequence[Mapping[str, Any]]) -> str:
    """`torch::Tensor forward(torch::Tensor x, double eps)`; empty where an argument has no plain type in C++."""
    types = [_CPP_TYPES.get(str(each.get("kind"))) for each in arguments]
    if None in types:
        return ""
    given = ", ".join(f"{cpp} {each['name']}" for cpp, each in zip(types, arguments, strict=True))
    result = "torch::Tensor" if len(outputs) == 1 else "std::vector<torch::Tensor>"
    return f"{result} forward({given})"


_MOST_ARGUMENTS = 8  # of a check case that are listed


def describe_case(
    name: str, arguments: Sequence[Mapping[str, Any]], bench: Sequence[Mapping[str, Any]]
) -> str:
    """`rows=7,columns=33: x [7, 33], weight [33]`: the arguments that differ from those of the bench case."""
    usual = {each["name"]: each for each in bench}
    told = []
    for each in arguments:
        before = usual.get(each["name"], {})
        if each.get("kind") == "tensor":
            strided = " (not contiguous)" if each.get("strided") else ""
            if strided or list(each["shape"]) != list(before.get("shape", ())):
                told.append(f"{each['name']} {list(each['shape'])}{strided}")
        elif each.get("value") != before.get("value"):
            told.append(f"{each['name']} = {each.get('value')}")
    if len(told) > _MOST_ARGUMENTS:
        told = [*told[:_MOST_ARGUMENTS], "…"]
    return f"{name}: {', '.join(told)}" if told else name


def describe_card(device: str) -> tuple[str, ...]:
    """What a programmer needs of a card, as lines; just the name for a device without a profile."""
    from evoengineer.card.name import DeviceName

    name = DeviceName.parse(device)
    if not name.simulated:
        return (device,)
    card = name.profile
    major, minor = card.compute_capability
    return (
        f"{card.name}, compute capability {major}.{minor}, {card.sm_count} SMs at {card.clock_khz / 1e6:.2f} GHz",
        f"DRAM {card.dram_bytes_per_second / 1e9:.0f} GB/s; L2 cache {card.l2_bytes / 2**20:.0f} MiB, about "
        f"{card.l2_bytes_per_clock * card.clock_khz * 1e3 / 1e12:.1f} TB/s",
        f"peak arithmetic: {_peaks(card)}",
        f"per SM: {card.max_threads_per_sm} threads, {card.registers_per_sm} registers, "
        f"{card.shared_bytes_per_sm // 1024} KiB shared memory",
        f"per block: {card.max_threads_per_block} threads, {card.shared_bytes_per_block // 1024} KiB shared memory, "
        f"up to {card.shared_bytes_per_block_optin // 1024} KiB as dynamic shared memory after cudaFuncSetAttribute; "
        f"at most {card.max_registers_per_thread} registers per thread",
    )


def _peaks(card: Profile) -> str:
    """In TFLOP/s, of what the card has."""
    rates = (
        ("float32", card.fp32_per_clock),
        ("tensor cores float16 with float32 sums", card.tensor_fp16_fma_per_clock),
        ("tensor cores TF32", card.tensor_tf32_fma_per_clock),
        ("float64", card.fp64_per_clock),
    )
    per_second = 2 * card.sm_count * card.clock_khz * 1e3 / 1e12
    return ", ".join(f"{name} {rate * per_second:.1f} TFLOP/s" for name, rate in rates if rate)


def describe_timing(device: str) -> tuple[str, ...]:
    """What a time means, as lines: what is cold, what a launch and a fill cost, what is not counted."""
    from evoengineer.card.name import DeviceName

    name = DeviceName.parse(device)
    counted = (
        "The time of a call runs from the start of its first operation on the device to the end of the last one, on "
        "any stream."
    )
    if not name.simulated:
        return (
            "Times are measured with events, the median of at least 40 calls. The L2 cache is flushed before each "
            "call and inputs are new, so all data comes from DRAM.",
            counted,
        )
    launch_us = name.profile.launch_overhead_ns / 1e3
    return (
        "Times are simulated: a model of this card computes them from the instructions and memory accesses that the "
        "kernel really executes. They are exact and repeatable; a difference of 0.1% is real.",
        "Caches, L2 included, are cold when the timed call begins. What one launch of the call leaves in L2 "
        "is warm for the next one.",
        f"An empty kernel costs about {launch_us:.1f} us, and so does each further launch. `torch::zeros` is a fill on "
        "the device: more than 1 us, and the time of writing its bytes. `torch::empty` and views cost nothing.",
        counted,
    )


def describe_light(device: str, moved_bytes: float, flops: float, dtype: str) -> tuple[float | None, str]:
    """The least possible time on that card, and what it follows from; None for a device without a profile."""
    from evoengineer.card.name import DeviceName
    from evoengineer.sim.timing.light import speed_of_light_us

    name = DeviceName.parse(device)
    if not name.simulated:
        return None, ""
    card = name.profile
    memory_us = speed_of_light_us(moved_bytes, 0, card, dtype)
    compute_us = speed_of_light_us(0, flops, card, dtype)
    bytes_text = (
        f"{moved_bytes / 1e6:.2f} MB (each input read once, each result written once) need {memory_us:.2f} us at "
        f"{card.dram_bytes_per_second / 1e9:.0f} GB/s"
    )
    flops_text = f"{flops / 1e9:.2f} GFLOP of products need {compute_us:.2f} us at the peak rate for {dtype}"
    if compute_us > memory_us:
        return compute_us, f"{flops_text}; {bytes_text}. Arithmetic is the limit"
    told = f"{bytes_text}; {flops_text}" if flops else bytes_text
    return memory_us, f"{told}. Memory traffic is the limit"


def describe_reach(
    device: str, moved_bytes: float, written_bytes: float, flops: float, dtype: str
) -> float | None:
    """About the time of a perfect kernel by the timing model, in one launch: the light with what no kernel can do
    without (the start of a launch, the part of the bandwidth and of the busiest unit that is never reached)."""
    from evoengineer.card.name import DeviceName
    from evoengineer.sim.timing.light import speed_of_light_us
    from evoengineer.sim.timing.model import Work, predict

    name = DeviceName.parse(device)
    if not name.simulated:
        return None
    card = name.profile
    clocks = speed_of_light_us(0, flops, card, dtype) * card.clock_khz / 1e3
    work = Work(
        blocks=card.sm_count,
        resident=1,
        phases=(),
        pipes={"arithmetic": clocks},
        l2_bytes=moved_bytes,
        dram_read=moved_bytes - written_bytes,
        dram_written=written_bytes,
        dram_pieces=0.0,
        dram_visits=0.0,
        atomic_clocks=0.0,
    )
    return predict(work, card).time_ns / 1e3


def listed(lines: Sequence[str]) -> str:
    """Lines as a Markdown list."""
    return "\n".join(f"- {line}" for line in lines)
