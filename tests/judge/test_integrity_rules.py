"""The rules on what a call did, by the device's record of it."""

from dataclasses import dataclass

import pytest

from evoengineer.judge import integrity


@dataclass(frozen=True)
class Did:
    launch_count: int = 0
    host_to_device_bytes: int = 0
    device_to_host_bytes: int = 0
    informed_bytes: int = 0
    device_to_device_bytes: int = 0
    memset_bytes: int = 0
    host_visible_allocations: int = 0
    host_calls: int = 0
    resets: int = 0


@pytest.mark.parametrize(
    "did",
    [
        Did(launch_count=1),
        Did(device_to_host_bytes=4),
        Did(device_to_device_bytes=4),
        Did(memset_bytes=4),
    ],
)
def test_nothing_happens_between_calls(did: Did) -> None:
    assert integrity.between_calls(Did()) is None
    finding = integrity.between_calls(did)
    assert finding is not None
    assert finding.rule == "early"


@pytest.mark.parametrize(
    "did",
    [
        Did(launch_count=1),
        Did(host_to_device_bytes=4),
        Did(device_to_device_bytes=4),
        Did(memset_bytes=4),
    ],
)
def test_nothing_is_left_for_later(did: Did) -> None:
    assert integrity.after_call(Did()) is None
    finding = integrity.after_call(did)
    assert finding is not None
    assert finding.rule == "deferred"


def test_the_host_has_no_part_in_the_computation() -> None:
    """Parameters of a kernel carry what the host found as well as a copy does."""
    little = Did(launch_count=2, device_to_host_bytes=4096, informed_bytes=256)
    assert integrity.during_call(little, 1) is None
    finding = integrity.during_call(Did(launch_count=2, device_to_host_bytes=4096, informed_bytes=4096), 1)
    assert finding is not None
    assert finding.rule == "host_work"


def test_threads_are_joined() -> None:
    assert integrity.left_running(0) is None
    finding = integrity.left_running(1)
    assert finding is not None
    assert finding.rule == "host_threads"


def test_every_result_has_its_own_memory() -> None:
    assert integrity.returned_again(False) is None
    finding = integrity.returned_again(True)
    assert finding is not None
    assert finding.rule == "kept_result"
