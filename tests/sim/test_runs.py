"""Runs of arithmetic that are done from a table: values and undefined bits are those of single instructions."""

from __future__ import annotations

import ctypes as c
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evoengineer.sim.codegen import jit, runs
from evoengineer.sim.codegen.assembler import AVX2, AVX512, Processor
from evoengineer.sim.engine.engine import Engine
from evoengineer.sim.options import DeviceOptions
from evoengineer.sim.runtime import structs
from evoengineer.toolchain.compilers import find_toolchain

SUMS, STEPS, THREADS = 16, 8, 64
SOURCE = f"""
extern "C" __global__ void tile(const float* b, float* c, int missing, int rounds, int cleared) {{
    __shared__ float s[{SUMS}];
    int t = threadIdx.x;
    if (t < {SUMS} && t != missing) s[t] = t + 1;
    __syncthreads();
    float sum[{SUMS}];
    #pragma unroll
    for (int i = 0; i < {SUMS}; i++) sum[i] = 0.5f * i;
    #pragma unroll 1
    for (int round = 0; round < rounds; round++) {{
        #pragma unroll
        for (int k = 0; k < {STEPS}; k++) {{
            float x = b[k * {THREADS} + t];
            #pragma unroll
            for (int i = 0; i < {SUMS}; i++) sum[i] += x * s[i];
        }}
        if (round == cleared) sum[5] = 0.0f;
    }}
    #pragma unroll
    for (int i = 0; i < {SUMS}; i++) c[i * {THREADS} + t] = sum[i];
}}
"""


@pytest.fixture(scope="module")
def ptx(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("runs")
    (folder / "tile.cu").write_text(SOURCE)
    toolchain = find_toolchain()
    command = [str(toolchain.nvcc), *toolchain.flags, "-arch=compute_89", "-ptx", "tile.cu", "-o", "tile.ptx"]
    subprocess.run(command, cwd=folder, check=True)
    return (folder / "tile.ptx").read_text()


def launched(ptx: str, missing: int, rounds: int, cleared: int) -> tuple[np.ndarray, list[int]]:
    """The sums, and which of them are undefined in all threads; none may be so in some only."""
    engine, place, out = run(ptx, missing, rounds, cleared, frozenset({"init"}))
    marks = [
        [engine.memory.first_undefined(place + 4 * (i * THREADS + t), 4) for t in range(THREADS)]
        for i in range(SUMS)
    ]
    undefined = [i for i in range(SUMS) if marks[i][0] is not None]
    assert all((mark is not None) == (i in undefined) for i in range(SUMS) for mark in marks[i])
    return out, undefined


def run(
    ptx: str, missing: int, rounds: int, cleared: int, checks: frozenset[str]
) -> tuple[Engine, int, np.ndarray]:
    """The engine, where the sums are in its memory, and what they are."""
    engine = Engine(DeviceOptions(threads=1, sample_blocks=0, checks=checks))
    module = engine.load_module([ptx])
    b, out = np.arange(STEPS * THREADS, dtype=np.float32) / 64, np.empty((SUMS, THREADS), np.float32)
    places = [engine.memory.allocate(structs.DEVICE, each.nbytes) for each in (b, out)]
    c.memmove(places[0], b.ctypes.data, b.nbytes)
    engine.memory.mark_initialised(places[0], b.nbytes)
    engine.launch(
        module,
        "tile",
        (1, 1, 1),
        (THREADS, 1, 1),
        0,
        struct.pack("<QQiii", *places, missing, rounds, cleared),
    )
    c.memmove(out.ctypes.data, places[1], out.nbytes)
    return engine, places[1], out


@pytest.mark.parametrize(
    ("missing", "rounds", "cleared", "undefined"),
    [(-1, 3, -1, []), (7, 1, -1, [7]), (7, 3, -1, [7]), (5, 3, 2, []), (5, 3, 1, [5]), (7, 0, -1, [])],
)
def test_undefined_bits_go_with_the_values(
    ptx: str, missing: int, rounds: int, cleared: int, undefined: list[int]
) -> None:
    out, found = launched(ptx, missing, rounds, cleared)
    assert found == undefined
    b = np.arange(STEPS * THREADS, dtype=np.float64).reshape(STEPS, THREADS) / 64
    for i in set(range(SUMS)) - set(undefined):
        first = 0.0 if i == 5 and cleared >= 0 else 0.5 * i
        times = rounds - 1 - cleared if i == 5 and cleared >= 0 else rounds
        assert np.allclose(out[i], first + times * (i + 1) * b.sum(axis=0), rtol=1e-5), i


def test_more_values_than_a_table_can_name_are_translated_one_by_one(
    ptx: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With a file of few vectors: the same answers."""
    monkeypatch.setenv("EVOENGINEER_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(runs, "_NUMBERED", 20)
    out, found = launched(ptx, 7, 3, -1)
    monkeypatch.setattr(runs, "_NUMBERED", 512)
    assert found == [7]
    assert np.array_equal(np.delete(out, 7, 0), np.delete(launched(ptx, 7, 3, -1)[0], 7, 0))


@pytest.mark.parametrize("processor", [None, AVX2, AVX512], ids=["llvm", "avx2", "avx512"])
def test_machine_code_of_fast_gives_the_bits_of_other_forms(
    ptx: str, processor: Processor | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Sums that live from round to round, one of them set in between: as in code with checks."""
    here = jit.processor()
    if processor is not None and (here is None or processor not in (here, AVX2)):
        pytest.skip("this processor has no such registers")
    right = run(ptx, -1, 3, 1, frozenset({"init"}))[2]
    written: list[str] = []
    machine_code = runs.machine_code

    def watched(name: str, *given: Any) -> str:
        written.append(name)
        return machine_code(name, *given)

    monkeypatch.setenv("EVOENGINEER_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(jit, "processor", lambda: processor)
    monkeypatch.setattr(runs, "machine_code", watched)
    assert np.array_equal(run(ptx, -1, 3, 1, frozenset())[2], right)
    assert bool(written) == (processor is not None)
