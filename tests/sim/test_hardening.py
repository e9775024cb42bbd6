"""Nothing that a client sends can end the device process, hang it, or reach memory that is not the client's."""

import array
import contextlib
import fcntl
import os
import random
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evoengineer.errors import DeviceError, UsageError
from evoengineer.sim.control import ControlledDevice
from evoengineer.sim.device import SimDevice
from evoengineer.sim.options import DeviceOptions, Limits
from evoengineer.sim.process.region import Region
from evoengineer.sim.runtime import native
from evoengineer.sim.wire import protocol
from evoengineer.sim.wire.protocol import Op

OPTIONS = DeviceOptions(
    threads=1, limits=Limits(max_seconds=2.0), sample_blocks=0, memory_bytes=1 << 30, host_bytes=2 << 30
)
PATIENT = replace(OPTIONS, limits=Limits(max_seconds=120.0))  # for what is to succeed, on a busy machine, too
HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
HONEST = (
    HEAD
    + """.visible .entry twice(.param .u64 data) {
    .reg .b32 %r<3>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3]; shl.b32 %r2, %r2, 1; st.global.u32 [%rd3], %r2; ret;
}
"""
)
MOST = (1 << 64) - 1


@pytest.fixture(scope="module")
def process() -> Iterator[ControlledDevice]:
    with ControlledDevice(OPTIONS) as device:
        yield device


@pytest.fixture
def owner(process: ControlledDevice) -> Iterator[ControlledDevice]:
    process.new_client()
    pid = process._process.pid
    yield process
    assert process._process.pid == pid
    works(process)


def works(owner: ControlledDevice) -> None:
    """A client that comes now is served, whatever the one before has done."""
    owner.new_client()
    owner.configure(PATIENT)
    client = SimDevice(PATIENT, owner.client_fd)
    data = client.upload(np.arange(32, dtype=np.int32))
    client.launch(client.load(HONEST)["twice"], 1, 32, [data])
    assert list(client.download(data)) == list(range(0, 64, 2))
    assert owner.mark().failure is None
    client.close()
    owner.configure(OPTIONS)


def status(client: SimDevice, op: int, payload: bytes) -> int:
    client._send(op, protocol.REPLY, payload)
    reply = protocol.read_reply(client._socket)
    assert reply.sticky == 0
    return reply.status


def private_address(owner: ControlledDevice) -> int:
    """Readable and writable memory of the device process that belongs to nobody else."""
    for line in Path(f"/proc/{owner._process.pid}/maps").read_text().splitlines():
        if line.endswith("[heap]"):
            return int(line.partition("-")[0], 16)
    raise AssertionError("a process has a heap")


# -- addresses and sizes ---------------------------------------------------------------------------


def test_addresses_of_copies(owner: ControlledDevice) -> None:
    client = SimDevice(OPTIONS, owner.client_fd)
    good = client.allocate(4096).address
    freed = client.allocate(4096)
    client.free(freed)
    staging, heap = native.HOST_ARENA, private_address(owner)
    bad = [0, heap, good - 8, good + 4090, freed.address, MOST - 4, 1 << 63, native.DEVICE_ARENA]
    bad += [staging + native.STAGING_BYTES - 4, native.HOST_ARENA + (3 << 30), 0x100000000000, 0x400000000000]
    for address in bad:
        for target, source in ((address, good), (good, address), (address, staging), (staging, address)):
            assert status(client, Op.COPY, protocol.COPY.pack(target, 8, source, 8, 8, 1, 1, 0)) == 1
        assert status(client, Op.WRITE, protocol.WRITE.pack(address, 0, 0) + bytes(8)) == 1
        assert status(client, Op.MEMSET, protocol.MEMSET.pack(address, 8, 8, 1, 0, 1, 0, 0)) == 1
        assert status(client, Op.FREE, protocol.ADDRESS.pack(address)) == 1
    assert status(client, Op.COPY, protocol.COPY.pack(good, 8, staging, 8, 8, 1, 1, 0)) == 0


def test_sizes_of_copies(owner: ControlledDevice) -> None:
    client = SimDevice(OPTIONS, owner.client_fd)
    good, staging = client.allocate(4096).address, native.HOST_ARENA
    sizes = [(4097, 1, 4097), (1 << 63, 2, 1 << 63), (8, 1 << 62, 8), (8, 1 << 61, 8), (MOST, MOST, MOST)]
    sizes += [(16, 2, 8), (16, 300, 16), (1, 4096, 2), (1, 1 << 40, 1), (MOST, 1, 0)]
    for width, height, pitch in sizes:
        copy = protocol.COPY.pack(good, pitch, staging, pitch, width, height, 1, 0)
        assert status(client, Op.COPY, copy) == 1, (width, height, pitch)
        for element in (1, 2, 4):
            fill = protocol.MEMSET.pack(good, pitch, width, height, 7, element, 0, 0)
            assert status(client, Op.MEMSET, fill) == 1, (width, height, pitch, element)
    for width, height, pitch in ((0, 1 << 62, 0), (1 << 62, 0, 5), (64, 64, 64), (8, 32, 128)):
        copy = protocol.COPY.pack(good, pitch, staging, pitch, width, height, 1, 0)
        assert status(client, Op.COPY, copy) == 0
    for element in (0, 3, 8, MOST & 0xFFFFFFFF):
        assert status(client, Op.MEMSET, protocol.MEMSET.pack(good, 8, 8, 1, 7, element, 0, 0)) == 1
    assert status(client, Op.MEMSET, protocol.MEMSET.pack(good + 2, 8, 8, 1, 7, 4, 0, 0)) == 1


def test_allocations(owner: ControlledDevice) -> None:
    client = SimDevice(OPTIONS, owner.client_fd)
    for size, kind, expected in ((MOST, 1, 2), (1 << 40, 1, 2), (2 << 30, 3, 2), (16, 0, 1), (16, 99, 1)):
        assert status(client, Op.ALLOC, protocol.ALLOC.pack(size, kind, 256)) == expected
    for kind in (4, 5, 6):  # the device's own: heap, variables, constants
        assert status(client, Op.ALLOC, protocol.ALLOC.pack(16, kind, 256)) == 1
    assert status(client, Op.HOST_REGISTER, protocol.PAIR.pack(4096, MOST)) == 2
    assert status(client, Op.HOST_REGISTER, protocol.PAIR.pack(4096, 4096)) == 0
    assert status(client, Op.HOST_REGISTER, protocol.PAIR.pack(4096, 4096)) == 712
    assert status(client, Op.HOST_UNREGISTER, protocol.ADDRESS.pack(8192)) == 713


def test_the_devices_own_memory_cannot_be_freed(owner: ControlledDevice) -> None:
    client = SimDevice(OPTIONS, owner.client_fd)
    first = client.allocate(1).address
    client.load(HEAD + ".visible .global .u32 counter = 7;\n.visible .entry e() { ret; }")
    for address in range(native.DEVICE_ARENA + (2 << 20), first, 256):
        assert status(client, Op.FREE, protocol.ADDRESS.pack(address)) == 1


def test_launches(owner: ControlledDevice) -> None:
    client = SimDevice(OPTIONS, owner.client_fd)
    number = client.load(HONEST)["twice"].number

    def launch(
        grid: tuple[int, ...] = (1, 1, 1),
        block: tuple[int, ...] = (32, 1, 1),
        shared: int = 0,
        cooperative: int = 0,
        parameters: int = 8,
    ) -> int:
        head = protocol.LAUNCH.pack(number, 0, *grid, *block, shared, cooperative)
        return status(client, Op.LAUNCH, head + bytes(parameters))

    for grid in ((0, 1, 1), (1, 0, 1), (1 << 31, 1, 1), (1, 65536, 1), (1, 1, 65536)):
        assert launch(grid=grid) == 9
    for block in ((0, 1, 1), (1025, 1, 1), (3, 0xAAAAAAAB, 1), (65536, 65536, 1), (1, 1, 65), (32, 33, 1)):
        assert launch(block=block) == 9
    assert launch(shared=200 << 10) == 1
    assert launch(shared=0xFFFFFFFF) == 1
    assert launch(grid=(1 << 20, 1, 1), cooperative=1) == 720
    for size in (0, 7, 32765, 100_000):
        assert launch(parameters=size) == 1
    for kernel, threads in ((99, 32), (number, 0), (number, 4096)):
        assert status(client, Op.OCCUPANCY, protocol.OCCUPANCY.pack(kernel, threads, 0)) == 1


def test_textures(owner: ControlledDevice) -> None:
    client = SimDevice(OPTIONS, owner.client_fd)
    good = client.allocate(4096).address

    def create(
        resource: int = 2,
        address: int = good,
        width: int = 64,
        height: int = 0,
        depth: int = 0,
        pitch: int = 0,
        levels: int = 0,
        flags: int = 0,
        modes: tuple[int, int, int] = (0, 0, 0),
    ) -> int:
        fields = [0, resource, address, width, height, depth, pitch, 0, 32, 0, 0, 0, 2, flags, levels, *modes]
        fields += [0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0, 0, 0.0, 0.0, 0.0]
        return status(client, Op.TEXTURE_CREATE, protocol.TEXTURE.pack(*fields))

    assert create() == 0
    assert create(resource=9) == 1
    assert create(resource=0, levels=100) == 1
    assert create(resource=1, levels=0xFFFFFFFF) == 1
    assert create(address=private_address(owner)) == 1
    assert create(address=0) == 1
    assert create(width=0) == 1
    assert create(width=1 << 33) == 1
    assert create(resource=3, height=1 << 32, pitch=1 << 32) == 1
    assert create(resource=3, height=(1 << 31) - 1, pitch=(1 << 63) + 4096) == 1
    assert create(resource=3, height=64, pitch=8) == 1
    assert create(flags=0xFFFFFFF0) == 1
    assert create(modes=(7, 0, 0)) == 1
    assert status(client, Op.TEXTURE_DESTROY, protocol.ADDRESS.pack(12345)) == 400


# Unloading what is not loaded and reading the memory's size go well; a limit, an event or a stream may be any.
HARMLESS = (
    Op.MODULE_UNLOAD, Op.MEMORY_INFO, Op.SET_LIMIT, Op.EVENT_RECORD, Op.STREAM_WAIT, Op.STREAM_CREATE
)  # fmt: skip


def test_payloads_of_any_length(owner: ControlledDevice) -> None:
    client = SimDevice(OPTIONS, owner.client_fd)
    for op in [0, *Op, 25, 0xFFFFFFFF]:
        if op in (Op.HELLO, Op.GOODBYE, Op.HOST_CALL, Op.SYNCHRONIZE, Op.RESET):
            continue
        for size in (0, 1, 7, 15, 16, 33, 4096):
            client._send(op, protocol.REPLY, b"\xff" * size)
            reply = protocol.read_reply(client._socket)
            nothing = op == Op.WRITE and size == protocol.WRITE.size
            assert reply.status not in (0, 999) or op in HARMLESS or nothing, (op, size)
            if reply.sticky:
                status(client, Op.RESET, b"")


# -- the connection ----------------------------------------------------------------------------------


# -- calls without end -----------------------------------------------------------------------------


@pytest.fixture
def limited(owner: ControlledDevice) -> Iterator[ControlledDevice]:
    owner.configure(replace(OPTIONS, limits=replace(OPTIONS.limits, max_work=2_000_000)))
    yield owner
    owner.configure(OPTIONS)


@pytest.mark.parametrize("op", [Op.SYNCHRONIZE, Op.RESET])
def test_waiting_and_resetting_count_as_work(op: Op, limited: ControlledDevice) -> None:
    client = SimDevice(OPTIONS, limited.client_fd)
    for _ in range(2_000):
        client._send(op, protocol.REPLY, b"")
        if protocol.read_reply(client._socket).sticky:
            break
    failure = limited.mark().failure
    assert failure is not None
    assert failure.kind == "instruction_budget"


def test_a_reset_gives_no_work_back(limited: ControlledDevice) -> None:
    client = SimDevice(OPTIONS, limited.client_fd)
    for _ in range(12):  # of which each alone is within the limit
        for _ in range(100):
            client._send(Op.SYNCHRONIZE, protocol.REPLY, b"")
            protocol.read_reply(client._socket)
        client._send(Op.RESET, protocol.REPLY, b"")
        protocol.read_reply(client._socket)
    failure = limited.mark().failure
    assert failure is not None
    assert failure.kind == "instruction_budget"


def test_a_client_that_notices_no_failure_is_let_go(limited: ControlledDevice) -> None:
    client = SimDevice(OPTIONS, limited.client_fd)

    def wait_for_ever() -> None:
        for _ in range(20_000):
            client._send(Op.SYNCHRONIZE, protocol.REPLY, b"")
            protocol.read_reply(client._socket)

    with pytest.raises((OSError, EOFError)):
        wait_for_ever()


def raw(owner: ControlledDevice) -> socket.socket:
    sock = socket.socket(fileno=os.dup(owner.client_fd))
    sock.settimeout(120.0)
    return sock


HELLO = protocol.HEADER.pack(Op.HELLO, protocol.REPLY, 16) + protocol.HELLO.pack(protocol.VERSION, 13, 1, 0)


@pytest.mark.parametrize(
    "data",
    [
        b"\0",
        HELLO[:20],
        HELLO + HELLO,
        protocol.HEADER.pack(Op.MODULE_LOAD, 1, 1 << 62),
        HELLO + protocol.HEADER.pack(Op.WRITE, 1, 1 << 40),
        HELLO + protocol.HEADER.pack(Op.MODULE_LOAD, 1, 64 << 20) + bytes(1000),
        protocol.HEADER.pack(Op.SYNCHRONIZE, 1, 0),
        b"GET / HTTP/1.1\r\n\r\n" * 20,
        os.urandom(4096),
    ],
    ids=["byte", "cut", "twice", "huge", "huge_write", "unfinished", "no_hello", "http", "noise"],
)
def test_bytes_that_are_no_commands(owner: ControlledDevice, data: bytes) -> None:
    with raw(owner) as sock:
        sock.sendall(data)
        owner.mark(timeout_seconds=120.0)


def test_a_client_that_never_reads(owner: ControlledDevice) -> None:
    with raw(owner) as sock:
        sock.setblocking(False)
        sock.send(HELLO)
        with contextlib.suppress(BlockingIOError):
            for _ in range(100_000):
                sock.send(protocol.HEADER.pack(Op.MEMORY_INFO, protocol.REPLY, 0))
        owner.mark(timeout_seconds=120.0)


def test_shared_memory_keeps_its_size(owner: ControlledDevice) -> None:
    with raw(owner) as sock:
        sock.sendall(HELLO)
        _, files, _, _ = socket.recv_fds(sock, 1, 2)
        for size in (0, 1 << 40):
            with pytest.raises(PermissionError):
                os.ftruncate(files[0], size)
        assert fcntl.fcntl(files[0], fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK
        for file in files:
            os.close(file)


def test_host_functions_that_never_return(owner: ControlledDevice) -> None:
    with raw(owner) as sock:
        sock.sendall(HELLO)
        files = array.array("i")
        _, ancillary, _, _ = sock.recvmsg(1, socket.CMSG_SPACE(8))
        files.frombytes(ancillary[0][2])
        owner.configure(replace(OPTIONS, limits=Limits(max_seconds=0.2)))
        sock.sendall(protocol.HEADER.pack(Op.HOST_CALL, 0, 32) + protocol.HOST_CALL.pack(1, 2, 3, 0, 0))
        region = owner.mark(timeout_seconds=120.0)
        owner.configure(OPTIONS)
    assert region.host_calls == 1
    assert region.failure is not None
    assert region.failure.kind == "wall_limit"
    for file in files:
        os.close(file)


# -- code --------------------------------------------------------------------------------------------


def run(owner: ControlledDevice, code: str, *arguments: object, block: int = 32) -> Region:
    """Load the code and launch its kernel `k`, as far as it goes."""
    client = SimDevice(OPTIONS, owner.client_fd)
    with contextlib.suppress(DeviceError, UsageError):
        module = client.load(HEAD + code)
        client.launch(module["k"], 1, block, list(arguments))
        client.synchronize()
    region = owner.mark()
    client.close()
    return region


def entry(body: str, parameters: str = "") -> str:
    registers = ".reg .pred %p<4>; .reg .b32 %r<40>; .reg .b64 %rd<8>; .reg .f32 %f<8>;"
    return f".visible .entry k({parameters}) {{ {registers} {body} ret; }}"


CALLEE = (
    ".func (.param .b32 r) f(.param .b32 a) { .reg .b32 %r<2>; ld.param.b32 %r1, [a]; "
    "st.param.b32 [r], %r1; ret; }\n"
)
BAD_CODE = {
    "parameter_past_end": entry("ld.param.u64 %rd1, [a+4096];", ".param .u64 a"),
    "parameter_before_start": entry("ld.param.u64 %rd1, [a+-64];", ".param .u64 a"),
    "parameter_far_away": entry(f"ld.param.u64 %rd1, [a+{1 << 46}];", ".param .u64 a"),
    "argument_past_end": CALLEE
    + entry("{ .param .b32 p; .param .b32 q; st.param.b32 [p+65536], %r1; call (q), f, (p); }"),
    "result_past_end": CALLEE
    + entry("{ .param .b32 p; .param .b32 q; st.param.b32 [p], %r1; call (q), f, (p); ld.param.b32 %r1, [q+8]; }"),
    "own_result_past_end": ".func (.param .b32 r) f() { .reg .b32 %r<2>; st.param.b32 [r+4096], %r1; ret; }\n"
    + entry("{ .param .b32 q; call (q), f, (); }"),
    "call_with_too_little": ".func (.param .b32 r) f(.param .b8 a[8192]) { ret; }\n"
    + entry("{ .param .b32 p; .param .b32 q; st.param.b32 [p], %r1; call (q), f, (p); }"),
    "call_that_returns_more": ".func (.param .b8 r[8192]) f(.param .b32 a) { ret; }\n"
    + entry("{ .param .b32 p; .param .b32 q; st.param.b32 [p], %r1; call (q), f, (p); }"),
    "printf_without_arguments": ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
    + entry("{ .param .b32 q; call (q), vprintf, (); }"),
    "huge_local": entry(".local .b8 x[4294967312]; mov.u64 %rd1, x; st.local.u32 [%rd1+70000], %r1;"),
    "huge_alignment": entry(".local .b8 x[8]; .local .align 1073741824 .b8 y[8]; st.local.u32 [y], %r1;"),
    "huge_arguments": ".func f(.param .b8 a[100000000]) { ret; }\n"
    + entry("{ .param .b8 p[100000000]; call f, (p); }"),
    "too_many_registers": entry(".reg .b32 %x<2000000000>;"),
    "red_without_operand": entry("red.global.add.u32 [%rd1];"),
    "atom_cas_without_operand": entry("atom.global.cas.b32 %r1, [%rd1], %r2;"),
    "fns_with_one_operand": entry("fns.b32 %r1, %r2;"),
    "mma_with_few_registers": entry(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f1};"
    ),
    "mma_of_no_shape": entry(
        "mma.sync.aligned.m200n200k200.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, "
        "{%f1,%f2,%f3,%f4};"
    ),
    "ldmatrix_with_few_registers": entry("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r1], {%r2};"),
    "initial_values_past_end": ".visible .global .align 4 .b8 v[4] = {1,2,3,4,5,6,7,8};\n" + entry(""),
    "injection": entry('atom.global.add.u32)@evil( %r1, [%rd1], %r2;'),
    "unknown_type": entry("add.q99 %r1, %r1, %r1;"),
    "braces": ".visible .entry k() " + "{" * 5000,
    "scopes": ".visible .entry k() {" + "{" * 200_000 + "}" * 200_000 + "}",
    "not_text": "\x00\xff\x01" * 100,
    "huge_variable": ".visible .global .b8 v[99999999999999];\n" + entry(""),
    "huge_shared": entry(".shared .b8 s[4294967300]; st.shared.u32 [s], %r1;"),
    "huge_parameters": entry("", ".param .b8 a[100000]"),
    "unknown_branch": entry("bra nowhere;"),
    "endless_alias": ".alias a, b;\n.alias b, a;\n" + entry("call a;"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_CODE)
def test_code_that_no_compiler_wrote(owner: ControlledDevice, name: str) -> None:
    region = run(owner, BAD_CODE[name], *([0] if "parameter_" in name else []))
    refused = region.failure is not None or region.messages or region.launch_count == 0
    assert refused, "it was run"


def test_kernels_do_not_reach_the_process(owner: ControlledDevice) -> None:
    """Every way to follow a pointer ends at the edge of what is allocated."""
    heap = private_address(owner)
    pointer = ".param .u64 a"
    ways = [
        "ld.u32 %r1, [%rd1];", "ld.global.u32 %r1, [%rd1];", "ld.const.u32 %r1, [%rd1];",
        "ld.local.u32 %r1, [%rd1];", "ld.param.u32 %r1, [%rd1];", "ld.volatile.global.u32 %r1, [%rd1];",
        "st.u32 [%rd1], %r1;", "st.local.u32 [%rd1], %r1;", "atom.add.u32 %r1, [%rd1], 1;",
        "ld.shared.u32 %r1, [%rd1];", "st.shared.u32 [%rd1], %r1;",
        "ld.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];",
    ]  # fmt: skip
    for way in ways:
        region = run(owner, entry(f"ld.param.u64 %rd1, [a]; {way}", pointer), heap)
        assert region.failure is not None, way
        assert region.failure.kind == "out_of_bounds", (way, region.failure)
        owner.new_client()
    copy = "mov.u32 %r1, s; cp.async.ca.shared.global [%r1], [%rd1], 16; cp.async.wait_all;"
    body = f".shared .align 16 .b8 s[64]; ld.param.u64 %rd1, [a]; {copy}"
    region = run(owner, entry(body, pointer), heap)
    assert region.failure is not None
    assert region.failure.kind == "out_of_bounds"


def test_printf_reads_only_what_is_allocated(owner: ControlledDevice) -> None:
    heap = private_address(owner)
    code = (
        ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
        ".global .align 1 .b8 text[4] = {37, 115, 10, 0};\n"
        + entry(
            ".local .align 8 .b8 args[8]; ld.param.u64 %rd1, [a]; st.local.u64 [args], %rd1; "
            "mov.u64 %rd2, args; cvta.local.u64 %rd2, %rd2; mov.u64 %rd3, text; cvta.global.u64 %rd3, %rd3; "
            "{ .param .b64 p; .param .b64 q; .param .b32 r; st.param.b64 [p], %rd3; st.param.b64 [q], %rd2; "
            "call.uni (r), vprintf, (p, q); }",
            ".param .u64 a",
        )
    )
    region = run(owner, code, heap, block=1)
    assert region.failure is not None
    assert region.failure.kind == "out_of_bounds"


def test_printf_of_endless_text(owner: ControlledDevice) -> None:
    text = ", ".join(str(b) for b in b"%1000000d" * 2000 + b"\0")
    code = (
        ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
        f".global .align 1 .b8 text[{9 * 2000 + 1}] = {{{text}}};\n"
        + entry(
            ".local .align 8 .b8 args[16384]; mov.u64 %rd2, args; cvta.local.u64 %rd2, %rd2; "
            "mov.u64 %rd3, text; cvta.global.u64 %rd3, %rd3; "
            "{ .param .b64 p; .param .b64 q; .param .b32 r; st.param.b64 [p], %rd3; st.param.b64 [q], %rd2; "
            "call.uni (r), vprintf, (p, q); }"
        )
    )
    started = time.monotonic()
    run(owner, code, block=1)
    assert time.monotonic() - started < 20


def test_asynchronous_copies_have_three_sizes(owner: ControlledDevice) -> None:
    client = SimDevice(OPTIONS, owner.client_fd)
    data = client.allocate(65536)
    client.close()
    body = (
        ".shared .align 16 .b8 s[49152]; ld.param.u64 %rd1, [a]; mov.u32 %r1, s; mov.u32 %r2, 4096; "
        "cp.async.ca.shared.global [%r1], [%rd1], %r2; cp.async.wait_all;"
    )
    owner.new_client()
    region = run(owner, entry(body, ".param .u64 a"), data.address)
    assert region.failure is not None
    assert region.failure.kind in ("ptxas", "illegal_instruction")


def test_functions_that_were_never_translated_cannot_be_called(owner: ControlledDevice) -> None:
    hidden = ".func hidden() { ret; }\n.func seen() { ret; }\n"
    for number in range(4):
        code = hidden + entry(
            f"mov.u64 %rd1, {0x100000000000 + 16 * number}; prototype : .callprototype _ (); call %rd1, (), prototype;"
        )
        region = run(owner, code)
        assert region.failure is not None
        assert region.failure.kind in ("invalid_call", "unsupported", "invalid_ptx")
        owner.new_client()


def test_recursion_without_loops_ends(owner: ControlledDevice) -> None:
    """As many calls as 2^60, never deep: no loop that could be counted."""
    code = """
.visible .func (.param .b32 r) f(.param .b32 n) {
    .reg .pred %p<2>; .reg .b32 %r<6>;
    ld.param.b32 %r1, [n]; setp.eq.s32 %p1, %r1, 0; @%p1 bra done;
    sub.s32 %r2, %r1, 1;
    { .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call.uni (b), f, (a); ld.param.b32 %r3, [b]; }
    { .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call.uni (b), f, (a); ld.param.b32 %r4, [b]; }
done: add.s32 %r5, %r3, %r4; st.param.b32 [r], %r5; ret;
}
""" + entry("{ .param .b32 a; .param .b32 b; mov.u32 %r1, 60; st.param.b32 [a], %r1; call.uni (b), f, (a); }")
    owner.configure(replace(OPTIONS, limits=Limits(max_seconds=0.5)))
    region = run(owner, code)
    owner.configure(OPTIONS)
    assert region.failure is not None
    assert region.failure.kind == "wall_limit"


def test_surface_narrower_than_an_element(owner: ControlledDevice) -> None:
    client = SimDevice(OPTIONS, owner.client_fd)
    address = protocol.ADDRESS.unpack(client._call(Op.ALLOC, protocol.ALLOC.pack(64, 7, 256)))[0]
    fields = [1, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 1, 2, 1, 0, 0, 0, 0, 0, 0, *[0.0] * 4, 0, 0, 0.0, 0.0, 0.0]
    level = protocol.LEVEL.pack(address, 1, 1, 0, 64)
    handle = client._call(Op.TEXTURE_CREATE, protocol.TEXTURE.pack(*fields) + level)
    code = entry(
        "ld.param.u64 %rd1, [a]; suld.b.2d.v4.b32.clamp {%r1,%r2,%r3,%r4}, [%rd1, {%r5,%r6}];",
        ".param .u64 a",
    )
    module = client.load(HEAD + code)
    client.launch(module["k"], 1, 32, [protocol.ADDRESS.unpack(handle)[0]])
    failure = owner.mark().failure
    assert failure is not None
    assert failure.kind == "out_of_bounds"


def test_damaged_fat_binaries(owner: ControlledDevice) -> None:
    magic = 0xBA55ED50
    images = [
        struct.pack("<IHHQ", magic, 1, 0, 0) * 4,
        struct.pack("<IHHQ", magic, 1, 16, MOST) + bytes(64),
        struct.pack("<IHHQ", magic, 1, 16, 512) + bytes(512),
        struct.pack("<IHHQ", magic, 1, 16, 128)
        + struct.pack("<HHIQIIHHI", 1, 1, 64, 64, 40, 0, 0, 8, 80)
        + bytes(4)
        + struct.pack("<QQQ", 0x2000, 0, 1 << 50)
        + b"\xff" * 64,
        b"\x7fELF" + bytes(100),
        b"",
    ]
    client = SimDevice(OPTIONS, owner.client_fd)
    for image in images:
        payload = protocol.MODULE.pack(1, 0) + protocol.IMAGE.pack(len(image)) + image
        assert status(client, Op.MODULE_LOAD, payload) in (0, 200, 209, 218)
    for payload in (
        protocol.MODULE.pack(MOST & 0xFFFFFFFF, 0),
        protocol.MODULE.pack(1, 0) + protocol.IMAGE.pack(MOST),
    ):
        assert status(client, Op.MODULE_LOAD, payload) in (1, 200)


# -- anything at all ---------------------------------------------------------------------------------


def honest_session(client: SimDevice) -> list[tuple[int, bytes]]:
    """The commands of a client that does a little of everything, with real numbers in them."""
    address = client.allocate(4096).address
    number = client.load(HONEST)["twice"].number
    image = HONEST.encode()
    texture = [
        0,
        2,
        address,
        64,
        0,
        0,
        0,
        0,
        32,
        0,
        0,
        0,
        2,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        *[0.0] * 4,
        0,
        0,
        *[0.0] * 3,
    ]
    return [
        (Op.SYNCHRONIZE, b""),
        (Op.MODULE_LOAD, protocol.MODULE.pack(1, 0) + protocol.IMAGE.pack(len(image)) + image),
        (Op.ALLOC, protocol.ALLOC.pack(8192, 1, 256)),
        (Op.COPY, protocol.COPY.pack(address, 64, native.HOST_ARENA, 64, 64, 4, 1, 0)),
        (Op.WRITE, protocol.WRITE.pack(address, 0, 0) + bytes(range(64))),
        (Op.MEMSET, protocol.MEMSET.pack(address, 128, 64, 2, 3, 1, 0, 0)),
        (
            Op.LAUNCH,
            protocol.LAUNCH.pack(number, 0, 2, 1, 1, 32, 1, 1, 0, 0) + protocol.ADDRESS.pack(address),
        ),
        (Op.EVENT_RECORD, protocol.EVENT.pack(1, 0)),
        (Op.EVENT_ELAPSED, protocol.EVENT.pack(1, 1)),
        (Op.STREAM_CREATE, protocol.STREAM.pack(1, 1)),
        (Op.STREAM_WAIT, protocol.EVENT.pack(1, 1)),
        (Op.SET_LIMIT, protocol.LIMIT.pack(2, 0, 1 << 20)),
        (Op.MEMORY_INFO, b""),
        (Op.OCCUPANCY, protocol.OCCUPANCY.pack(number, 128, 0)),
        (Op.TEXTURE_CREATE, protocol.TEXTURE.pack(*texture)),
        (Op.TEXTURE_DESTROY, protocol.ADDRESS.pack(0x7E00000000000000)),
        (Op.HOST_REGISTER, protocol.PAIR.pack(4096, 4096)),
        (Op.HOST_UNREGISTER, protocol.ADDRESS.pack(4096)),
        (Op.FREE, protocol.ADDRESS.pack(address)),
        (Op.RESET, b""),
    ]


def mutated(rng: random.Random, payload: bytes) -> bytes:
    data = bytearray(payload)
    for _ in range(rng.choice((0, 1, 1, 2, 8))):
        if not data:
            break
        at = rng.randrange(len(data))
        match rng.randrange(4):
            case 0:
                data[at] ^= 1 << rng.randrange(8)
            case 1:
                data[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
            case 2:
                word = rng.choice((0, 1, MOST, 1 << 63, 1 << 32, native.DEVICE_ARENA, native.HOST_ARENA))
                data[at // 8 * 8 : at // 8 * 8 + 8] = struct.pack("<Q", word)
            case 3:
                del data[at:]
    return bytes(data)


@pytest.mark.parametrize("seed", range(12))
def test_mutated_sessions(owner: ControlledDevice, seed: int) -> None:
    rng = random.Random(seed)
    client = SimDevice(OPTIONS, owner.client_fd)
    commands = honest_session(client)
    with contextlib.suppress(OSError, BlockingIOError):
        client._socket.settimeout(1.0)
        for _ in range(150):
            op, payload = rng.choice(commands)
            if rng.random() < 0.05:
                op = rng.randrange(40)
            if op == Op.HOST_CALL:
                continue
            data = mutated(rng, payload)
            size = len(data) if rng.random() < 0.98 else rng.randrange(1 << 20)
            client._socket.sendall(protocol.HEADER.pack(op, 0, size) + data)
    region = owner.mark(timeout_seconds=120.0)
    client.close()
    assert region.failure is None or region.failure.kind != "internal", region.failure
