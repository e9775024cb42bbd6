"""Constant places in shared memory: those of the block's variables need no check, all others are reported."""

from __future__ import annotations

import struct

import pytest

from evoengineer.errors import DeviceError
from evoengineer.sim.engine.engine import Engine
from evoengineer.sim.options import DeviceOptions
from evoengineer.sim.runtime import structs

KERNEL = """.version 8.0
.target sm_89
.address_size 64
.visible .entry reads(.param .u64 out)
{
    .reg .b64 %rd<3>;
    .reg .f32 %f<2>;
    .shared .align 4 .b8 values[64];
    ld.param.u64 %rd1, [out];
    st.shared.f32 [values+60], 0f3F800000;
    ld.shared.f32 %f1, [values+OFFSET];
    st.global.f32 [%rd1], %f1;
    ret;
}
"""


def read(offset: int) -> None:
    engine = Engine(DeviceOptions(threads=1, sample_blocks=0))
    module = engine.load_module([KERNEL.replace("OFFSET", str(offset))])
    place = engine.memory.allocate(structs.DEVICE, 4)
    engine.launch(module, "reads", (1, 1, 1), (32, 1, 1), 0, struct.pack("<Q", place))


def test_inside() -> None:
    read(60)


@pytest.mark.parametrize(
    ("offset", "kind"), [(64, "out_of_bounds"), (1 << 20, "out_of_bounds"), (61, "misaligned")]
)
def test_outside(offset: int, kind: str) -> None:
    with pytest.raises(DeviceError) as raised:
        read(offset)
    assert raised.value.kind == kind
