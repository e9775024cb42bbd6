"""Compiled kernels: once per block shape, kept on disk, the same results in every mode."""

import ctypes as c
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from evoengineer.errors import DeviceError, UsageError
from evoengineer.files import CACHE_VARIABLE
from evoengineer.sim.codegen import jit
from evoengineer.sim.engine.engine import MODE_VARIABLE, Engine
from evoengineer.sim.engine.modules import Module
from evoengineer.sim.options import DeviceOptions
from evoengineer.sim.runtime import structs
from evoengineer.sim.runtime.native import Memory

# out[i] = i odd ? 3·i : i + 100: lanes part at a branch, so that both forms of the code run.
KERNEL = """
.version 9.0
.target sm_89
.address_size 64
.visible .entry odd_even(.param .u64 out, .param .u32 n)
{
.reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<5>;
ld.param.u64 %rd1, [out];
ld.param.u32 %r1, [n];
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %tid.x;
mad.lo.s32 %r4, %r2, 64, %r3;
setp.ge.s32 %p1, %r4, %r1;
@%p1 bra $END;
and.b32 %r5, %r4, 1;
setp.eq.s32 %p2, %r5, 0;
@%p2 bra $EVEN;
mul.lo.s32 %r6, %r4, 3;
bra $STORE;
$EVEN:
add.s32 %r6, %r4, 100;
$STORE:
mul.wide.s32 %rd2, %r4, 4;
add.s64 %rd3, %rd1, %rd2;
st.global.u32 [%rd3], %r6;
$END:
ret;
}
"""
N = 150
OPTIONS = DeviceOptions(threads=1, sample_blocks=0)


@pytest.fixture(scope="module")
def memory() -> Memory:
    return Memory()


@pytest.fixture
def cold_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No kernel has been compiled yet (the runtime itself has been loaded already)."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    return tmp_path


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The LLVM modules compiled since."""
    texts: list[str] = []
    compile_ir = jit.compile_ir

    def record(text: str, quick: bool = False) -> bytes:
        texts.append(text)
        return compile_ir(text, quick)

    monkeypatch.setattr(jit, "compile_ir", record)
    return texts


def run(engine: Engine, module: Module) -> np.ndarray:
    out = np.zeros(N, np.int32)
    address = engine.memory.allocate(structs.DEVICE, out.nbytes)
    engine.launch(module, "odd_even", (3, 1, 1), (64, 1, 1), 0, struct.pack("<QI", address, N))
    c.memmove(out.ctypes.data, address, out.nbytes)
    engine.memory.free(address)
    return out


def expected() -> np.ndarray:
    i = np.arange(N, dtype=np.int32)
    return np.where(i % 2 == 1, 3 * i, i + 100)


def make(memory: Memory) -> tuple[Engine, Module]:
    engine = Engine(OPTIONS, memory)
    return engine, engine.load_module([KERNEL])


@pytest.mark.parametrize("mode", ["optimised", "varying"])
def test_every_mode_gives_the_same(memory: Memory, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MODE_VARIABLE, mode)
    np.testing.assert_array_equal(run(*make(memory)), expected())


def test_a_second_launch_compiles_nothing(memory: Memory, cold_cache: Path, compiled: list[str]) -> None:
    engine, module = make(memory)
    run(engine, module)
    assert compiled
    compiled.clear()
    np.testing.assert_array_equal(run(engine, module), expected())
    assert not compiled


def test_another_engine_finds_the_code_on_disk(memory: Memory, cold_cache: Path, compiled: list[str]) -> None:
    run(*make(memory))
    compiled.clear()
    np.testing.assert_array_equal(run(*make(memory)), expected())
    assert not compiled


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    ],
)
def test_damaged_plans_and_objects_are_made_again(
    memory: Memory, cold_cache: Path, compiled: list[str], damage: Callable[[bytes], bytes]
) -> None:
    run(*make(memory))
    made = len(compiled)
    for path in cold_cache.glob("kernels/*"):
        path.write_bytes(damage(path.read_bytes()))
    np.testing.assert_array_equal(run(*make(memory)), expected())
    assert len(compiled) == 2 * made
    np.testing.assert_array_equal(run(*make(memory)), expected())
    assert len(compiled) == 2 * made


def test_a_cache_that_is_deleted_or_not_writable_costs_compilations_only(
    memory: Memory, cold_cache: Path, compiled: list[str]
) -> None:
    engine, module = make(memory)
    run(engine, module)
    made = len(compiled)
    shutil.rmtree(cold_cache)
    np.testing.assert_array_equal(run(*make(memory)), expected())
    assert len(compiled) == 2 * made
    shutil.rmtree(cold_cache)
    cold_cache.write_text("in the way")
    np.testing.assert_array_equal(run(*make(memory)), expected())


def test_an_instruction_that_nobody_has_is_named_by_ptxas(memory: Memory) -> None:
    engine = Engine(OPTIONS, memory)
    with pytest.raises(DeviceError, match="wonder"):
        engine.load_module([KERNEL.replace("add.s32 %r6, %r4, 100;", "wonder.s32 %r6, %r4, 100;")])


def test_unknown_mode_is_refused(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MODE_VARIABLE, "fastest")
    with pytest.raises(UsageError, match="optimised, varying"):
        Engine(OPTIONS, memory)
