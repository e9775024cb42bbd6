"""Device names: one type, read once, with errors that help."""

import dataclasses

import pytest

from evoengineer.card.name import DEFAULT_DEVICE, DeviceName
from evoengineer.card.profile import load_profile
from evoengineer.errors import UsageError


@pytest.mark.parametrize(
    ("text", "name", "canonical"),
    [
        ("sim:rtx4090", DeviceName("sim", "rtx4090"), "sim:rtx4090"),
        ("sim:RTX4090", DeviceName("sim", "rtx4090"), "sim:rtx4090"),
        ("sim:T4@0585", DeviceName("sim", "t4", 585), "sim:t4@585"),
        ("cuda:1", DeviceName("cuda", index=1), "cuda:1"),
        ("cuda", DeviceName("cuda"), "cuda:0"),
    ],
)
def test_names_are_read_and_written(text: str, name: DeviceName, canonical: str) -> None:
    assert DeviceName.parse(text) == name
    assert str(name) == canonical
    assert DeviceName.parse(canonical) == name
    assert name.simulated == (name.kind == "sim")


def test_default_is_the_rtx_4090() -> None:
    assert DEFAULT_DEVICE.profile.name == "NVIDIA GeForce RTX 4090"


@pytest.mark.parametrize(
    "device", ["rtx4090", "sim:", "sim:gtx480", "", "sim:../rtx4090", "sim:architectures/sm_89"]
)
def test_unknown_device_names_the_valid_ones(device: str) -> None:
    with pytest.raises(UsageError, match="unknown device .* valid devices: .*sim:rtx4090"):
        DeviceName.parse(device).profile  # noqa: B018


@pytest.mark.parametrize("device", ["cuda:first", "cuda:-1", "cuda:0:1"])
def test_gpus_have_numbers(device: str) -> None:
    with pytest.raises(UsageError, match="a real GPU is cuda:0"):
        DeviceName.parse(device)


def test_a_real_gpu_has_no_profile() -> None:
    with pytest.raises(UsageError, match="cuda:1: only simulated devices can be used here"):
        DeviceName.parse("cuda:1").profile  # noqa: B018


def test_a_card_of_another_version_can_be_named_but_not_used() -> None:
    """Reports on an old archive ask no more of a name than whether times are simulated."""
    assert DeviceName.parse("sim:gtx480").simulated


def test_a_clock_may_be_held() -> None:
    held = DeviceName.parse("sim:T4@585").profile
    assert (held.device, held.clock_khz) == ("sim:t4@585", 585_000)
    assert DeviceName.parse(held.device).profile == held
    assert dataclasses.replace(held, key="t4", clock_khz=load_profile("t4").clock_khz) == load_profile("t4")


@pytest.mark.parametrize("clock", ["", "fast", "-5", "0", "99", "5000", "1e3", "1000@900"])
def test_a_clock_that_no_card_has_is_refused(clock: str) -> None:
    with pytest.raises(UsageError, match="clock in MHz, from 100 to 1987 for Tesla T4"):
        DeviceName.parse(f"sim:t4@{clock}").profile  # noqa: B018


def test_the_beginning_of_a_name_suggests_all_that_begin_so() -> None:
    with pytest.raises(UsageError, match=r"did you mean sim:h100-pcie or sim:h100-sxm\?"):
        DeviceName.parse("sim:h100").profile  # noqa: B018


def test_near_miss_is_suggested() -> None:
    with pytest.raises(UsageError, match=r"did you mean sim:rtxa6000\?"):
        DeviceName.parse("sim:a6000").profile  # noqa: B018
