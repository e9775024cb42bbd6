"""Profiles: complete, consistent with themselves, and agreeing with published peak figures."""

import dataclasses

import pytest

from evoengineer.card import profile as profiles
from evoengineer.card.profile import Profile, load_profile, profile_names
from evoengineer.errors import EvoEngineerError

# Data sheets: fp32 TFLOP/s, fp16 tensor TFLOP/s (dense, fp32 accumulation), both at boost clock; and GB/s.
# NVIDIA quotes H100's and B200's tensor figures at a lower clock than their fp32 figures, so they are left out.
PUBLISHED = {
    "rtx5090": (104.8, 209.5, 1792),
    "b200": (75, None, 8000),
    "rtx5070ti": (43.9, 87.9, 896),
    "rtx4090": (82.6, 165.2, 1008),
    "rtx4080": (48.7, 97.5, 717),
    "rtx4070tisuper": (44.1, 88.2, 672),
    "rtx4070": (29.1, 58.3, 504),
    "rtx3090": (35.6, 71, 936),
    "rtx3080": (29.8, 59.5, 760),
    "rtx3070": (20.3, 40.6, 448),
    "rtx3060ti": (16.2, 32.4, 448),
    "rtx3060": (12.7, 25.5, 360),
    "rtx4060": (15.1, 30.2, 272),
    "rtx2080ti": (13.4, 53.8, 616),
    "rtx2080super": (11.2, 44.6, 496),
    "rtxa4000": (19.2, 76.7, 448),
    "rtxa5000": (27.8, 111.1, 768),
    "rtxa6000": (38.7, 154.8, 768),
    "a100-40gb": (19.5, 312, 1555),
    "a100-80gb": (19.5, 312, 2039),
    "h100-sxm": (66.9, None, 3350),
    "h100-pcie": (51.2, None, 2000),
    "l40s": (91.6, 366, 864),
    "l20": (59.8, 119.5, 864),
    "l4": (30.3, 121, 300),
    "t4": (8.1, 65, 320),
    "v100": (15.7, 125, 900),
}


@pytest.fixture(params=profile_names())
def card(request: pytest.FixtureRequest) -> Profile:
    return load_profile(request.param)


def test_every_profile_is_published() -> None:
    assert set(profile_names()) == set(PUBLISHED)


def test_peaks_agree_with_data_sheets(card: Profile) -> None:
    fp32, tensor, bandwidth = PUBLISHED[card.key]
    lanes_per_second = card.sm_count * card.clock_khz * 1e3
    assert 2 * card.fp32_per_clock * lanes_per_second / 1e12 == pytest.approx(fp32, rel=0.01)
    if tensor is not None:
        assert 2 * card.tensor_fp16_fma_per_clock * lanes_per_second / 1e12 == pytest.approx(tensor, rel=0.02)
    assert card.dram_bytes_per_second / 1e9 == pytest.approx(bandwidth, rel=0.02)
    # CUDA programs compute the peak bandwidth from these two properties.
    double_data_rate = 2 * card.memory_clock_khz * 1e3 * card.memory_bus_bits / 8
    assert double_data_rate == pytest.approx(card.dram_bytes_per_second, rel=0.01)


def test_limits_are_consistent(card: Profile) -> None:
    assert card.architecture == f"sm_{card.sm}"
    assert card.max_warps_per_sm * card.warp_size == card.max_threads_per_sm
    assert card.shared_bytes_per_block <= card.shared_bytes_per_block_optin <= card.shared_bytes_per_sm
    assert card.shared_bytes_per_block_optin + card.shared_reserved_bytes <= card.shared_bytes_per_sm
    assert card.shared_carveouts_kib[-1] * 1024 == card.shared_bytes_per_sm
    assert card.shared_bytes_per_sm < card.l1_shared_bytes_per_sm
    assert card.persisting_l2_bytes < card.l2_bytes < card.dram_bytes
    assert card.base_clock_khz < card.clock_khz
    assert card.shared_latency < card.l1_latency < card.l2_latency < card.dram_latency


def test_types_are_as_declared(card: Profile) -> None:
    for field in dataclasses.fields(Profile):
        value = getattr(card, field.name)
        if field.type in (int, bool, str):
            assert type(value) is field.type, field.name
        else:
            assert isinstance(value, tuple), field.name


def test_misspelt_figure_is_refused() -> None:
    with pytest.raises(EvoEngineerError, match="unknown figures: sm_cuont"):
        profiles._build("x", {**dataclasses.asdict(load_profile("t4")), "sm_cuont": 1})
    with pytest.raises(EvoEngineerError, match="missing figures: .*sm_count"):
        profiles._build("x", {"name": "X"})
