"""What a client made the device do since the last mark: the evidence that a judge goes by.

Filled by the command handlers from what really happened, never from what a client says about it (a copy's
direction follows from its addresses). Lists are bounded, counts are not. Becomes a Region at the mark.
"""

from dataclasses import dataclass, field

from evoengineer.sim.process.region import Failure, LaunchRecord, Region
from evoengineer.sim.wire.records import field_values

MOST_LAUNCHES = 4096  # listed one by one; all are counted
MOST_MESSAGES = 64


@dataclass(slots=True)
class Activity:
    launches: list[LaunchRecord] = field(default_factory=list)
    launch_count: int = 0
    host_to_device_bytes: int = 0
    device_to_host_bytes: int = 0
    informed_bytes: int = 0
    device_to_device_bytes: int = 0
    memset_bytes: int = 0
    device_allocations: int = 0
    device_allocation_bytes: int = 0
    host_visible_allocations: int = 0
    host_visible_bytes: int = 0
    host_calls: int = 0
    module_loads: int = 0
    resets: int = 0
    failure: Failure | None = None  # the first one
    messages: list[str] = field(default_factory=list)

    def region(self, elapsed_ns: float, busy_ns: float) -> Region:
        lists = {"launches": tuple(self.launches), "messages": tuple(self.messages)}
        return Region(elapsed_ns=elapsed_ns, busy_ns=busy_ns, **{**field_values(self), **lists})

    def launched(self, record: LaunchRecord) -> None:
        self.launch_count += 1
        self.informed_bytes = self.device_to_host_bytes
        if len(self.launches) < MOST_LAUNCHES:
            self.launches.append(record)

    def copied(self, size: int, from_host: bool, to_host: bool) -> None:
        if from_host and not to_host:
            self.host_to_device_bytes += size
        elif to_host and not from_host:
            self.device_to_host_bytes += size
        else:
            self.device_to_device_bytes += size

    def allocated(self, size: int, host_visible: bool) -> None:
        if host_visible:
            self.host_visible_allocations += 1
            self.host_visible_bytes += size
        else:
            self.device_allocations += 1
            self.device_allocation_bytes += size

    def failed(self, failure: Failure) -> None:
        self.failure = self.failure or failure

    def said(self, text: str) -> None:
        if len(self.messages) < MOST_MESSAGES:
            self.messages.append(text[:4096])
