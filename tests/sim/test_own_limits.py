"""What takes us time and memory without running instructions counts as well."""

import pytest

from evoengineer.errors import DeviceError
from evoengineer.sim.engine.engine import Engine
from evoengineer.sim.options import DeviceOptions, Limits

_HEAD = ".version 7.8\n.target sm_89\n.address_size 64\n"
_LOCAL = (
    _HEAD
    + """.visible .entry large() {
    .local .align 4 .b8 own[400000];
    .reg .b64 %rd<3>;
    mov.u64 %rd1, own;
    cvta.local.u64 %rd2, %rd1;
    st.u32 [%rd2], 7;
    ret;
}
"""
)


def test_local_memory_that_is_cleared_for_every_warp_counts() -> None:
    engine = Engine(
        DeviceOptions(checks=frozenset({"init"}), sample_blocks=0, limits=Limits(max_work=5_000_000))
    )
    module = engine.load_module([_LOCAL])
    with pytest.raises(DeviceError) as failed:
        engine.launch(module, "large", (64, 1, 1), (32, 1, 1))
    assert failed.value.kind == "instruction_budget"


def test_every_module_counts_as_some_translation() -> None:
    engine = Engine(DeviceOptions(sample_blocks=0, limits=Limits(max_translated=25_000)))
    for name in "ab":
        engine.load_module([_HEAD + f".visible .entry {name}() {{ ret; }}\n"])
    with pytest.raises(DeviceError) as failed:
        engine.load_module([_HEAD + ".visible .entry c() { ret; }\n"])
    assert failed.value.kind == "translation_budget"
