"""Options arrive as they were sent, every one of them; the --check list."""

from dataclasses import MISSING, fields, replace
from pathlib import Path

import pytest

from evoengineer.card.name import DeviceName
from evoengineer.errors import UsageError
from evoengineer.sim.control import ControlledDevice
from evoengineer.sim.options import CHECKS, DeviceOptions, Limits, default_threads, parse_checks

# A value for each option that is not its default. A new option without one fails the test below.
LIMITS = {"max_instructions": 1_000_000, "max_work": 2_000_000, "max_translated": 3000, "max_seconds": 17.5}
FIXED = {"device": DeviceName.parse("sim:t4@585"), "host_bytes": 1 << 30}  # from the start of the process
CHOSEN = {
    "threads": default_threads() + 1,
    "checks": frozenset(CHECKS),
    "limits": Limits(**LIMITS),
    "block_order": "reversed",
    "order_seed": 9,
    "memory_bytes": 1 << 28,
    "spot_blocks": 5,
    "inputs": ((1 << 40, 4096), (1 << 41, 32)),
    "poison": True,
    "noise": 12,
    "sample_blocks": 7,
    "sample_seed": 11,
    "sampled_only": True,
    "reuse_profiles": False,
    "progress": True,
}


@pytest.fixture
def chosen(tmp_path: Path) -> DeviceOptions:
    return DeviceOptions(**FIXED, **CHOSEN, profile_file=str(tmp_path / "profiles.json"))


def test_no_option_is_left_out_here(chosen: DeviceOptions) -> None:
    for record in (chosen, chosen.limits):
        for field in fields(record):
            default = field.default if field.default is not MISSING else field.default_factory()  # type: ignore[misc]
            assert getattr(record, field.name) != default, (
                f"give {field.name} a value that is not its default"
            )


def test_every_option_reaches_the_engine_at_the_start(chosen: DeviceOptions) -> None:
    with ControlledDevice(chosen) as device:
        assert device.options == chosen


def test_every_option_reaches_the_engine_when_it_is_configured(chosen: DeviceOptions) -> None:
    with ControlledDevice(DeviceOptions(**FIXED, profile_file=chosen.profile_file)) as device:
        assert device.options != chosen
        device.configure(chosen)
        assert device.options == chosen


def test_options_survive_json(chosen: DeviceOptions) -> None:
    assert DeviceOptions.from_json(chosen.to_json()) == chosen


@pytest.mark.parametrize("lost", ["threads", "checks", "limits", "device"])
def test_options_are_whole_or_refused(chosen: DeviceOptions, lost: str) -> None:
    data = chosen.to_json()
    with pytest.raises(ValueError, match=rf"not a DeviceOptions: unknown \['colour'\], missing \['{lost}'\]"):
        DeviceOptions.from_json({**{n: v for n, v in data.items() if n != lost}, "colour": "blue"})
    with pytest.raises(ValueError, match=r"not a Limits: unknown \['max_days'\]"):
        DeviceOptions.from_json({**data, "limits": {**LIMITS, "max_days": 1}})


def test_options_are_checked_where_they_are_made() -> None:
    with pytest.raises(UsageError, match="block_order is one of .*'reversed'.*, not 'sideways'"):
        DeviceOptions(block_order="sideways")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="only simulated devices"):
        DeviceOptions(device=DeviceName.parse("cuda:0"))
    assert replace(DeviceOptions(), checks=frozenset()).checks == {"memory", "sync"}, "these are always on"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("none", {"memory", "sync"}),
        ("memory", {"memory", "sync"}),
        ("race", {"memory", "sync", "race"}),
        ("race, init", {"memory", "sync", "race", "init"}),
        ("all", set(CHECKS)),
        ("all,race", set(CHECKS)),
    ],
)
def test_valid(text: str, expected: set[str]) -> None:
    assert parse_checks(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rase", r"unknown check 'rase' \(did you mean race\?\); valid: memory, sync, race, init, all, none"),
        ("", "no check named"),
        (",", "no check named"),
        ("none,race", "'none' stands alone"),
    ],
)
def test_invalid(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_checks(text)
