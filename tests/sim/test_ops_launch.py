"""printf, assert, malloc, cp.async, mbarrier and atomics in real launches, with several workers."""

import ctypes
import struct
from typing import Any

import numpy as np
import pytest

from evoengineer.sim.runtime import structs

STDOUT, STDERR = 1, 2
OUT_OF_BOUNDS, ASSERT, INVALID_FREE = 1, 12, 17
ORDERED, SPINS = 2, 4

Kernels = Any  # of conftest.py


class Device:
    """Device memory for one test."""

    def __init__(self, kernels: Kernels) -> None:
        self.memory, self.addresses = kernels.memory, list[int]()

    def room(self, size: int) -> int:
        self.addresses.append(self.memory.allocate(structs.DEVICE, size))
        return self.addresses[-1]

    def put(self, data: bytes) -> int:
        address = self.room(len(data))
        ctypes.memmove(address, data, len(data))
        return address

    def text(self, text: str) -> int:
        return self.put(text.encode() + b"\0")

    def free(self) -> None:
        for address in self.addresses:
            self.memory.free(address)


@pytest.fixture
def device(kernels: Kernels) -> Any:
    device = Device(kernels)
    kernels.output()
    yield device
    device.free()


def words(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


def printed(kernels: Kernels, device: Device, text: str, arguments: bytes) -> str:
    error = kernels.launch("print_params", params=words(device.text(text), device.put(arguments + b"\0")))
    assert error.code == 0, error.text
    return "".join(text for _, text in kernels.output())


@pytest.mark.parametrize(
    "text, layout, values, wanted",
    [
        ("%d|%5i|%-5d|%05d|%+d", "<5i", (-1, 2, 3, 4, 5), "-1|    2|3    |00004|+5"),
        ("%u %x %X %#o %#x", "<5I", (2**32 - 1, 255, 255, 8, 16), "4294967295 ff FF 010 0x10"),
        ("%hd %hhd %hu %hhu", "<4i", (70000, 300, 70000, 300), "4464 44 4464 44"),
        ("%ld %lld %zu %lu %llx", "<3q2Q", (-1, -(2**40), 7, 2**64 - 1, 2**40),
         "-1 -1099511627776 7 18446744073709551615 10000000000"),
        ("%f %.2f %8.3f|%-8.1f|%e %g %G", "<7d", (1.5, 2.345, 3.14159, 2.0, 12345.0, 1e-5, 1e20),
         "1.500000 2.35    3.142|2.0     |1.234500e+04 1e-05 1E+20"),
        ("%a %f %f", "<3d", (0.5, float("inf"), float("nan")), "0x1p-1 inf nan"),
        ("%c%c|%3c|%%", "<3i", (65, 66, 67), "AB|  C|%"),
        ("%d %f %d", "<i4xdi", (1, 2.0, 3), "1 2.000000 3"),
        ("%*d|%-*d|%.*f", "<4ii4xd", (4, 1, 4, 2, 1, 2.25), "   1|2   |2.2"),
        ("%p %p", "<2Q", (0x1234, 0), "0x1234 (nil)"),
        ("no arguments 100%%", "<", (), "no arguments 100%"),
        ("%y %", "<", (), "%y %"),
    ],
)  # fmt: skip
def test_printf_formats_like_c(
    kernels: Kernels, device: Device, *, text: str, layout: str, values: tuple[float, ...], wanted: str
) -> None:
    assert printed(kernels, device, text, struct.pack(layout, *values)) == wanted


def test_printf_reads_texts_from_device_memory(kernels: Kernels, device: Device) -> None:
    text = device.text("device text")
    arguments = struct.pack("<4Q", text, text, text, 0)
    assert (
        printed(kernels, device, "%s|%14s|%.6s|%s", arguments) == "device text|   device text|device|(null)"
    )
    assert printed(kernels, device, "%500d", struct.pack("<i", 1)) == " " * 499 + "1"


@pytest.mark.parametrize("arguments", [words(0x1234), words(structs.DEVICE)])
def test_printf_of_a_bad_pointer_is_an_error(kernels: Kernels, device: Device, arguments: bytes) -> None:
    error = kernels.launch("print_params", params=words(device.text("%s"), device.put(arguments)))
    assert error.code == OUT_OF_BOUNDS
    assert b"printf" in error.text


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("flags", [0, ORDERED, SPINS])
def test_output_comes_in_block_order(kernels: Kernels, device: Device, threads: int, flags: int) -> None:
    params = words(device.text("%d:%d\n"), device.room(8 * 128 * 40))
    assert (
        kernels.launch("print_threads", grid=40, block=128, threads=threads, flags=flags, params=params).code
        == 0
    )
    lines = kernels.output()[0][1].splitlines()
    assert lines == [f"{block}:{thread}" for block in range(40) for thread in range(128)]


@pytest.mark.parametrize("threads", [1, 2])
def test_assert_prints_as_cuda_does_and_nothing_of_later_blocks(
    kernels: Kernels, device: Device, threads: int
) -> None:
    params = words(device.text("x > 0"), device.text("k.cu"), device.text("void k(int)"), 3)
    error = kernels.launch("fail_assert", grid=200, threads=threads, params=params)
    assert error.code == ASSERT
    assert list(error.ctaid) == [3, 0, 0]
    line = "k.cu:42: void k(int): block: [3,0,0], thread: [{},0,0] Assertion `x > 0` failed."
    assert error.text.decode() == line.format(1)
    message = "".join(line.format(thread) + "\n" for thread in (1, 2))
    assert kernels.output() == [(STDOUT, "x > 0" * 4), (STDERR, message)]


def test_heap_pointers_are_allocations_of_their_own(kernels: Kernels, device: Device) -> None:
    table = device.room(256)
    assert kernels.launch("use_heap", params=words(100, table, 2)).code == 0
    addresses = struct.unpack("<32Q", ctypes.string_at(table, 256))
    assert len(set(addresses)) == 32
    assert all(kernels.memory.find(a).bytes == 100 for a in addresses)
    assert kernels.launch("use_heap", params=words(100, table, 0)).code == 0
    kernels.memory.free_all(structs.HEAP)


def test_heap_has_a_limit(kernels: Kernels, device: Device) -> None:
    table = device.room(256)
    assert kernels.launch("use_heap", params=words(1 << 20, table, 2)).code == 0
    addresses = struct.unpack("<32Q", ctypes.string_at(table, 256))
    assert [bool(a) for a in addresses] == [True] * 8 + [False] * 24
    kernels.memory.free_all(structs.HEAP)


def test_wrong_frees_are_errors(kernels: Kernels, device: Device) -> None:
    table = device.room(256)
    error = kernels.launch("use_heap", params=words(64, table, 1))
    assert error.code == INVALID_FREE
    assert b"freed already" in error.text
    error = kernels.launch("free_pointer", params=words(table))
    assert error.code == INVALID_FREE
    assert b"not allocated by malloc in a kernel" in error.text
    assert kernels.launch("free_pointer", params=words(0)).code == 0


@pytest.mark.parametrize("step", [16, 48])  # lanes in a row, lanes scattered
def test_copies_arrive_at_their_wait(kernels: Kernels, device: Device, step: int) -> None:
    tiles = 20
    data = np.random.default_rng(0).integers(0, 238, tiles * 512, np.uint8)
    source, target = device.put(data.tobytes()), device.room((tiles + 1) * 512)
    assert kernels.launch("copy_pipeline", params=words(source, target, tiles, step)).code == 0
    got = np.frombuffer(ctypes.string_at(target, (tiles + 1) * 512), np.uint8).reshape(tiles + 1, 32, 16)
    order = [step * lane % 512 // 16 for lane in range(32)]
    assert (got[:tiles] == data.reshape(tiles, 32, 16)[:, order]).all()
    assert (got[tiles] == 0xEE).all()


def test_a_copy_from_a_bad_address_is_an_error(kernels: Kernels, device: Device) -> None:
    source, target = device.room(1024), device.room(1 << 14)
    error = kernels.launch("copy_pipeline", params=words(source, target, 4, 16))
    assert error.code == OUT_OF_BOUNDS
    assert error.address == source + 1024
    assert error.allocation == source


def test_warps_meet_at_an_mbarrier(kernels: Kernels, device: Device) -> None:
    counters = device.put(bytes(400))
    error = kernels.launch("meet", block=128, flags=SPINS, params=words(counters, 100))
    assert error.code == 0, error.text
    assert struct.unpack("<100I", ctypes.string_at(counters, 400)) == (4,) * 100


@pytest.mark.parametrize("threads, flags", [(1, 0), (2, 0), (2, ORDERED)])
def test_atomics_lose_nothing(kernels: Kernels, device: Device, threads: int, flags: int) -> None:
    whole, real = device.put(bytes(32)), device.put(bytes(32))
    grid = 2000
    assert (
        kernels.launch("count_up", grid=grid, threads=threads, flags=flags, params=words(whole, real)).code
        == 0
    )
    assert struct.unpack("<8I", ctypes.string_at(whole, 32)) == (4 * grid,) * 8
    assert struct.unpack("<8f", ctypes.string_at(real, 32)) == (4 * grid,) * 8
