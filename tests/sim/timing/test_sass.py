"""ptxas's machine code: instructions, waits and the PTX lines behind them; counts carried over to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from evoengineer.files import CACHE_VARIABLE
from evoengineer.sim.timing import opcodes, ptxas
from evoengineer.sim.timing.machine import machine_blocks, pace, phases, weigh
from evoengineer.sim.timing.ptxas import Assembler, Assembly
from evoengineer.sim.timing.sass import MachineCode, MachineInstr, read_code

PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry sum(.param .u64 data, .param .u64 out, .param .u32 count)
{
    .reg .pred %p<3>; .reg .f32 %f<4>; .reg .b32 %r<6>; .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [data];
    ld.param.u64 %rd2, [out];
    ld.param.u32 %r1, [count];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd3, %r2, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    mov.f32 %f1, 0f00000000;
    mov.u32 %r3, 0;
LOOP:
    ld.global.f32 %f2, [%rd4];
    add.f32 %f1, %f1, %f2;
    add.s64 %rd4, %rd4, 4096;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p1, %r3, %r1;
    .pragma "nounroll";
    @%p1 bra LOOP;
    st.global.f32 [%rd5], %f1;
    ret;
}
"""
LOAD_LINE, ADD_LINE, STORE_LINE = 17, 18, 24


@pytest.fixture(scope="module", params=[80, 89, 90, 100, 120])
def assembly(request: pytest.FixtureRequest) -> Assembly:
    return Assembler(PTX, request.param).result()


@pytest.fixture(scope="module")
def code(assembly: Assembly) -> MachineCode:
    return read_code(assembly.cubin)["sum"]


def test_resources(assembly: Assembly) -> None:
    found = assembly.resources["sum"]
    assert 8 <= found.registers <= 24
    assert (found.spill_bytes, found.estimated) == (0, False)


def test_instructions_know_their_lines(code: MachineCode) -> None:
    by_line = {instr.line: instr for instr in code.instrs if instr.pipe == "global"}
    assert by_line[LOAD_LINE].operation == opcodes.LDG
    assert by_line[LOAD_LINE].bytes == 4
    assert by_line[LOAD_LINE].sets >= 0
    assert by_line[STORE_LINE].operation == opcodes.STG
    addition = next(instr for instr in code.instrs if instr.pipe == "fma" and instr.line == ADD_LINE)
    assert addition.waits >> by_line[LOAD_LINE].sets & 1


def test_branches_lead_back_into_the_loop(code: MachineCode) -> None:
    load = next(i for i, instr in enumerate(code.instrs) if instr.line == LOAD_LINE)
    back = next(i for i, instr in enumerate(code.instrs) if instr.operation == opcodes.BRA)
    assert code.instrs[back].target <= load < back


def test_executions_reach_the_loop(code: MachineCode) -> None:
    blocks = machine_blocks(code)
    lines = dict.fromkeys(range(7, 16), 0) | dict.fromkeys(range(17, 24), 1) | {24: 2, 25: 2}
    weigh(code, blocks, lines, [1, 100, 1], [1, 100, 1], 1, 1)
    loads = sum(
        block.executions
        for block in blocks
        for instr in code.instrs[block.first : block.last]
        if instr.line == LOAD_LINE and instr.pipe == "global"
    )
    assert loads == pytest.approx(100)
    durations, _ = pace(code, blocks, lambda instr: (500.0 if instr.pipe == "global" else 4.0, 0.0))
    clocks = sum(d * b.executions for d, b in zip(durations, blocks, strict=True))
    assert 500 <= clocks < 100 * 540


UNROLLED = """.version 8.0
.target sm_80
.address_size 64
.visible .entry mixed(.param .u64 out, .param .u32 count, .param .u32 a)
{
    .reg .pred %p<3>; .reg .b32 %r<6>; .reg .b64 %rd<6>; .reg .f32 %f<4>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [count];
    ld.param.u32 %r4, [a];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, 0;
LOOP:
    BODY
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p1, %r3, 1024;
    @%p1 bra LOOP;
    st.global.u32 [%rd1], %r2;
    ret;
}
"""


@pytest.mark.parametrize(
    ("body", "pipe", "each"),
    [
        ("mad.lo.s32 %r2, %r2, %r4, %r4;", "imad", 1),  # no float tells how often it was unrolled
        ("cvt.rn.f32.u32 %f1, %r2; sin.approx.f32 %f1, %f1; cvt.rni.u32.f32 %r2, %f1;", "sfu", 3),
    ],
)
def test_unrolled_loops_keep_their_count(body: str, pipe: str, each: int) -> None:
    text = UNROLLED.replace("BODY", body)
    code = read_code(Assembler(text, 80).result().cubin)["mixed"]
    block_of_line = {}
    number = 0
    for line, content in enumerate(text.splitlines(), 1):
        if "LOOP:" in content or "st.global" in content:
            number += 1
        block_of_line[line] = number
    blocks = machine_blocks(code)
    weigh(code, blocks, block_of_line, [1, 1024, 1], [1, 1024, 1], 1, 1)
    runs = sum(
        block.executions
        for block in blocks
        for instr in code.instrs[block.first : block.last]
        if instr.pipe == pipe and block_of_line.get(instr.line) == 1
    )
    assert runs == pytest.approx(1024 * each, rel=0.02)


def test_an_unknown_architecture_is_an_empty_assembly() -> None:
    assert Assembler(PTX.replace("sm_80", "sm_12"), 80).result().cubin
    assert not Assembler(PTX.replace("ld.global", "nonsense"), 80).result().cubin


def _instr(operation: int, pipe: str, **fields: int) -> MachineInstr:
    values = {"stall": 1, "sets": -1, "reads": -1, "waits": 0, "line": 0, "bytes": 0, "target": -1, **fields}
    return MachineInstr(operation, pipe, guarded=bool(values.pop("guarded", 0)), **values)  # type: ignore[arg-type]


def test_a_consumer_waits_for_its_load() -> None:
    code = MachineCode((
        _instr(opcodes.LDG, "global", sets=0),
        _instr(opcodes.LDG, "global", sets=1),
        _instr(0x023, "fma", waits=0b11, stall=4),
        _instr(opcodes.EXIT, "control"),
    ))  # fmt: skip
    blocks = machine_blocks(code)
    blocks[0].executions = 1
    durations, _ = pace(code, blocks, lambda instr: (300.0, 0.0))
    assert durations[0] == 1 + 300 + 4 + 1  # both loads are under way at once


def test_loads_under_way_together_come_in_one_after_the_other() -> None:
    code = MachineCode((
        _instr(opcodes.LDG, "global", sets=0),
        _instr(opcodes.LDG, "global", sets=1),
        _instr(0x023, "fma", waits=0b11, stall=4),
        _instr(opcodes.EXIT, "control"),
    ))  # fmt: skip
    blocks = machine_blocks(code)
    blocks[0].executions = 1
    durations, _ = pace(code, blocks, lambda instr: (300.0, 50.0 if instr.pipe == "global" else 0.0))
    assert durations[0] == 300 + 2 * 50 + 4 + 1  # the second is asked for long before the first has come in


def test_groups_of_copies_may_stay_outstanding() -> None:
    copies = [part for _ in range(3) for part in (
        _instr(opcodes.LDGSTS, "global"), _instr(opcodes.LDGDEPBAR, "control", sets=0)
    )]  # fmt: skip
    for allowed, least in ((3, 0), (2, 300), (0, 304)):
        code = MachineCode((*copies, _instr(opcodes.DEPBAR, "control", sets=0, bytes=allowed)))
        blocks = machine_blocks(code)
        blocks[0].executions = 1
        durations, _ = pace(code, blocks, lambda instr: (300.0, 0.0))
        assert durations[0] == max(least, 6) + 1


@pytest.mark.parametrize("guarded_share", [1.0, 0.9])
def test_a_load_behind_a_test_of_bounds_is_waited_for(guarded_share: float) -> None:
    code = MachineCode((
        _instr(opcodes.BRA, "control", target=2, guarded=1),  # threads beyond the end load nothing
        _instr(opcodes.LDG, "global", sets=0),
        _instr(opcodes.STS, "shared", waits=0b1),
        _instr(opcodes.EXIT, "control"),
    ))  # fmt: skip
    test, guarded, join = blocks = machine_blocks(code)
    test.executions, guarded.executions, join.executions = 100.0, 100 * guarded_share, 100.0
    durations, _ = pace(code, blocks, lambda instr: (300.0, 0.0))
    assert durations == [1, 1, 299 + 1 + 1]


def test_a_warp_that_yields_goes_on_with_what_it_has_asked_for() -> None:
    code = MachineCode((
        _instr(opcodes.LDG, "global", sets=0),
        _instr(opcodes.YIELD, "control"),
        _instr(0x023, "fma", waits=0b1, stall=4),
        _instr(opcodes.EXIT, "control"),
    ))  # fmt: skip
    blocks = machine_blocks(code)
    assert len(blocks) == len(phases(code, blocks)) == 1
    blocks[0].executions = 1
    assert pace(code, blocks, lambda instr: (300.0, 0.0))[0] == [300 + 4 + 1]


def test_barriers_part_phases() -> None:
    code = MachineCode((
        _instr(0x023, "fma"),
        _instr(opcodes.BAR, "barrier"),
        _instr(0x023, "fma"),
        _instr(opcodes.EXIT, "control"),
    ))  # fmt: skip
    blocks = machine_blocks(code)
    assert len(phases(code, blocks)) == 2


# -- the cache of what ptxas made ------------------------------------------------------------------------


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The runs of ptxas since, with a cache of its own."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    found: list[str] = []
    run = ptxas._run_ptxas

    def record(program: Path, arch: str, text: str) -> tuple[str, bytes] | None:
        found.append(arch)
        return run(program, arch, text)

    monkeypatch.setattr(ptxas, "_run_ptxas", record)
    return found


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    ],
)
def test_a_damaged_result_is_made_again(
    runs: list[str], tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    first = Assembler(PTX, 80).result()
    assert first.resources["sum"].registers > 0
    assert Assembler(PTX, 80).result() == first
    assert len(runs) == 1
    (kept,) = (tmp_path / "cache" / "ptxas").iterdir()
    kept.write_bytes(damage(kept.read_bytes()))
    assert Assembler(PTX, 80).result() == first
    assert len(runs) == 2
    assert Assembler(PTX, 80).result() == first
    assert len(runs) == 2


def test_without_a_cache_ptxas_is_asked_each_time(runs: list[str], tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    assert Assembler(PTX, 80).result() == Assembler(PTX, 80).result() != Assembly({}, b"")
    assert len(runs) == 2


def test_another_ptxas_is_asked_anew(runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    Assembler(PTX, 80).result()
    monkeypatch.setattr(ptxas, "file_identity", lambda path: "another")
    Assembler(PTX, 80).result()
    assert len(runs) == 2


PRINTS = """
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.visible .entry four(.param .u64 out)
{
    .reg .f32 %f<8>; .reg .b32 %r<6>; .reg .b64 %rd<6>;
    .shared .align 16 .b8 tile[4096];
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 4;
    mov.u32 %r3, tile;
    add.u32 %r4, %r3, %r2;
    st.shared.f32 [%r4], 0f3f800000;
    bar.sync 0;
    ld.shared.f32 %f1, [%r4];
    ld.shared.f32 %f2, [%r4+4];
    ld.shared.f32 %f3, [%r4+8];
    ld.shared.f32 %f4, [%r4+12];
    add.f32 %f5, %f1, %f2;
    add.f32 %f6, %f3, %f4;
    add.f32 %f7, %f5, %f6;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.f32 [%rd3], %f7;
    ret;
}
"""


def test_a_module_that_prints_is_optimised_like_any_other() -> None:
    header = ".version 8.0\n.target sm_80\n.address_size 64"
    code = read_code(Assembler(header + PRINTS, 80).result().cubin)["four"]
    assert [each.bytes for each in code.instrs if each.operation == opcodes.LDS] == [16]
    elsewhere = PRINTS.replace("vprintf", "defined_elsewhere")
    linked = Assembler(header + elsewhere, 80).result()  # which ptxas must not refuse
    assert read_code(linked.cubin)["four"].instrs


@pytest.mark.parametrize(
    ("number", "refused"), [("SEGV", True), ("ABRT", True), ("KILL", False), ("TERM", False)]
)
def test_an_assembler_that_crashes_refuses_the_text_and_one_that_is_killed_says_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: str, refused: bool
) -> None:
    program = tmp_path / "ptxas"
    program.write_text(f"#!/bin/sh\nkill -{number} $$\n")
    program.chmod(0o755)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(ptxas, "find_ptxas", lambda: program)
    assembly = Assembler(PTX, 80).result()
    assert (bool(assembly.refusal), bool(assembly.failure)) == (refused, not refused)
