"""Machine code for runs of arithmetic: the same values as one operation after the other, on any kind of processor."""

from __future__ import annotations

import ctypes as c
import random

import llvmlite.binding as llvm
import numpy as np
import pytest

from evoengineer.sim.codegen import jit
from evoengineer.sim.codegen.assembler import AVX2, AVX512, FILE, FRAME, Operation, Processor, assemble, place
from evoengineer.sim.codegen.runs import machine_function

LANES, VECTORS = 32, 90


def run(
    operations: list[Operation], wanted: set[int], processor: Processor, memory: np.ndarray
) -> np.ndarray:
    """Frame and file of `memory` as the code leaves them."""
    features = llvm.get_host_cpu_features()
    if not features["avx512f" if processor is AVX512 else "fma"]:
        pytest.skip("this processor has no such registers")
    text = machine_function("machine", assemble(operations, wanted, processor))
    text += "\ndefine void @entry(ptr %a, ptr %b) { call void @machine(ptr %a, ptr %b) ret void }\n"
    library, found = jit.link(jit.compile_ir(text), ["entry"])
    room = np.zeros(memory.size + 16, np.float32)
    start = -room.ctypes.data % 64 // 4
    held = room[start : start + memory.size].reshape(memory.shape)
    held[:] = memory
    c.CFUNCTYPE(None, c.c_void_p, c.c_void_p)(found["entry"])(held[0].ctypes.data, held[1].ctypes.data)
    del library
    return held.copy()


def expected(operations: list[Operation], memory: np.ndarray) -> np.ndarray:
    values = memory.copy()
    for each in operations:
        given = [values[at & 1, at >> 8].astype(np.float64) for at in each.given]
        result = {
            "fma": lambda x: x[0] * x[1] + x[2],
            "add": lambda x: x[0] + x[1],
            "sub": lambda x: x[0] - x[1],
            "mul": lambda x: x[0] * x[1],
            "mov": lambda x: x[0],
        }[each.op](given)
        values[each.to & 1, each.to >> 8] = result
    return values


@pytest.mark.parametrize("processor", [AVX512, AVX2], ids=["avx512", "avx2"])
@pytest.mark.parametrize("seed", range(12))
def test_drawn_operations(processor: Processor, seed: int) -> None:
    """Small integers, of which no operation rounds; more values than there are registers, or few with many uses."""
    draw = random.Random(seed)
    places = [place(pointer, 128 * number) for pointer in (FRAME, FILE) for number in range(VECTORS)]
    places = draw.sample(places, draw.choice([4, 20, 60, 2 * VECTORS]))
    generator = np.random.default_rng(seed)
    memory = generator.integers(-3, 4, (2, VECTORS, LANES)).astype(np.float32)
    operations, bound = [], dict.fromkeys(places, 3.0)
    for _ in range(400):
        op = draw.choice(["fma", "fma", "fma", "add", "sub", "mul", "mov"])
        given = tuple(draw.choice(places) for _ in range({"fma": 3, "mov": 1}.get(op, 2)))
        sizes = [bound[each] for each in given]
        multiplied = sizes[0] * sizes[1] if op in ("fma", "mul") else 0.0
        size = multiplied + (0.0 if op == "mul" else sizes[2] if op == "fma" else sum(sizes))
        to = draw.choice(places)
        if size < 1 << 24:
            operations.append(Operation(op, to, given))
            bound[to] = size
    written = {each.to for each in operations}
    wanted = {each for each in places if each not in written or draw.random() < 0.7}
    found = run(operations, wanted, processor, memory)
    right = expected(operations, memory)
    for each in wanted:
        np.testing.assert_array_equal(found[each & 1, each >> 8], right[each & 1, each >> 8])


@pytest.mark.parametrize("processor", [AVX512, AVX2], ids=["avx512", "avx2"])
def test_places_far_away(processor: Processor) -> None:
    """Offsets that one byte cannot hold, and those that are no multiple of a vector."""
    memory = np.zeros((2, 600, LANES), np.float32)
    memory[0, 599], memory[1, 3] = 5.0, 2.0
    operation = Operation(
        "fma", place(FRAME, 128 * 511 + 64), (place(FRAME, 128 * 599),) + (place(FILE, 384),) * 2
    )
    found = run([operation], {operation.to}, processor, memory)
    np.testing.assert_array_equal(found[0].ravel()[32 * 511 + 16 :][:32], 12.0)
    assert np.count_nonzero(found[0]) == 64
