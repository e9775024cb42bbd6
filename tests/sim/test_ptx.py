"""Reading PTX: modules, bodies, scopes, blocks, forms of values."""

import tracemalloc
from collections.abc import Callable

import pytest

from evoengineer.errors import PtxError
from evoengineer.sim.codegen.forms import UNIFORM, Form, infer_forms, join, linear_form, special_form
from evoengineer.sim.codegen.steps import linear
from evoengineer.sim.ptx.body import parse_body
from evoengineer.sim.ptx.flow import build_flow, destinations, reachability, sources
from evoengineer.sim.ptx.model import Addr, Body, Imm, Pair, Reg, Sym, Vec
from evoengineer.sim.ptx.parser import parse_module, parse_variable

HEAD = ".version 9.0\n.target sm_89\n.address_size 64\n"


REGISTERS = ".reg .pred %p<9>; .reg .b32 %r<19>; .reg .f32 %f<9>; .reg .b64 %rd<19>;"


def body_of(text: str, registers: str = REGISTERS) -> Body:
    module = parse_module(
        f"{HEAD}.visible .entry k(.param .u64 a, .param .u32 n)\n{{\n{registers}\n{text}\nret;\n}}"
    )
    return parse_body(module.functions["k"])


def test_pointers_among_parameters_say_where_they_point() -> None:
    pointers = ".param .u64 .ptr .align 1 a, .param .u64 .ptr .global .align 16 b, .param .u64 .ptr .global c"
    declared = f"{pointers}, .param .u32 n"
    kernel = parse_module(f"{HEAD}.visible .entry k({declared})\n{{ ret; }}").functions["k"]
    assert [(p.name, p.bytes) for p in kernel.params] == [("a", 8), ("b", 8), ("c", 8), ("n", 4)]


def test_module_structure() -> None:
    module = parse_module(
        HEAD
        + """
.file 1 "a.cu"
.global .align 4 .f32 table[3] = {0f3F800000, 0f40000000, -1};
.visible .global .align 8 .u64 link = generic(table)+4;
.extern .shared .align 16 .b8 dynamic[];
.global .attribute(.managed) .align 4 .u32 shared_with_host = 5;
.func (.param .b32 result) twice(.param .b32 x) ;
.visible .entry _Z1kPf(.param .u64 p0, .param .align 8 .b8 p1[24])
.maxntid 16, 4, 1
{ ret; }
.section .debug_str { $L: .b8 95 }
"""
    )
    kernel = module.functions["_Z1kPf"]
    assert (kernel.entry, kernel.max_threads, [(p.bytes, p.align) for p in kernel.params]) == (
        True,
        64,
        [(8, 8), (24, 8)],
    )
    assert not module.functions["twice"].defined
    table = module.variables["table"]
    assert table.init[0].data == bytes.fromhex("0000803f00000040ffffffff")
    assert (module.variables["link"].init[0].symbol, module.variables["link"].init[0].addend) == ("table", 4)
    assert (module.variables["dynamic"].external, module.variables["dynamic"].bytes) == (True, 0)
    assert module.variables["shared_with_host"].managed


def test_operands() -> None:
    body = body_of(
        "ld.global.v2.f32 {%f1, %f2}, [%rd1+-8];\nshfl.sync.idx.b32 %r1|%p1, %r2, 0, 31, -1;\nmov.u64 %rd2, a;"
    )
    load, shuffle, move, _ = body.instrs
    assert load.args == (Vec((Reg("%f1"), Reg("%f2"))), Addr(Reg("%rd1"), -8))
    assert shuffle.args[0] == Pair(Reg("%r1"), Reg("%p1"))
    assert shuffle.args[4] == Imm(-1)
    assert move.args[1] == Sym("a")


def test_inline_assembly_scopes_are_kept_apart() -> None:
    body = body_of(
        "{ .reg .pred p; setp.eq.s32 p, %r1, 0; @p mov.u32 %r2, 1; }\n{ .reg .pred p; setp.eq.s32 p, %r3, 0; }"
    )
    first, guarded, second, _ = body.instrs
    assert first.args[0] == guarded.guard
    assert first.args[0] != second.args[0]


def test_labels_inside_inline_assembly_are_local() -> None:
    text = "{ LOOP: add.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, 9; @%p1 bra LOOP; }"
    flow = build_flow(body_of(text + text))
    assert len(flow.headers) == 2


def test_guarded_barrier_becomes_a_branch_around_it() -> None:
    flow = build_flow(body_of("@%p1 bar.sync 0;\nmov.u32 %r1, 1;"))
    assert [b.barrier is not None for b in flow.blocks] == [False, True, False]
    assert flow.blocks[0].successors == [2, 1]


def test_line_numbers_follow_inlining_out_of_toolkit_headers() -> None:
    text = HEAD + '.file 1 "k.cu"\n.file 2 "/opt/cuda/include/intrinsics.hpp"\n.visible .entry k()\n{\n'
    text += ".reg .b32 %r<3>;\n.loc 2 110 3, function_name $L, inlined_at 1 66 5\nmov.u32 %r1, 1;\nret;\n}"
    assert parse_body(parse_module(text).functions["k"]).instrs[0].location == (1, 66)


def test_liveness_and_reachability() -> None:
    flow = build_flow(
        body_of(
            "mov.u32 %r1, 0;\n$L1: add.s32 %r1, %r1, %r2; setp.lt.s32 %p1, %r1, 9;\n"
            "@%p1 bra $L1; st.global.u32 [%rd1], %r1;"
        )
    )
    assert flow.blocks[1].live_in == {"%r1", "%r2", "%rd1"}
    assert flow.headers == {1}
    rows = reachability(flow.blocks)
    assert rows[1] >> 1 & 1
    assert not rows[2] >> 1 & 1


def test_destinations_and_sources() -> None:
    store, atomic = body_of("st.global.u32 [%rd1], %r1;\natom.global.add.u32 %r2, [%rd2], %r3;").instrs[:2]
    assert (destinations(store), sources(store)) == ((), ("%rd1", "%r1"))
    assert (destinations(atomic), sources(atomic)) == (("%r2",), ("%rd2", "%r3"))


def test_what_cannot_be_read_is_named() -> None:
    with pytest.raises(PtxError, match="unknown PTX directive"):
        body_of(".wonder 7;")
    with pytest.raises(PtxError, match="unknown label"):
        build_flow(body_of("bra $NOWHERE;"))


# -- forms across the lanes ----------------------------------------------------------------------------


def forms_of(text: str, shape: tuple[int, int, int]) -> dict[str, Form | None]:
    return infer_forms(body_of(text), shape, 0)


def test_thread_index_forms_follow_the_block_shape() -> None:
    assert special_form("%tid.x", (64, 2, 1)) == linear_form(1, 1)
    assert special_form("%tid.y", (64, 2, 1)) == UNIFORM
    assert special_form("%tid.x", (16, 16, 1)) == Form(1, linear(2, 1))
    assert special_form("%tid.y", (16, 16, 1)) == Form(2)
    assert special_form("%tid.x", (20, 5, 1)) is None


def test_addresses_of_neighbouring_lanes_are_linear() -> None:
    text = "mov.u32 %r1, %tid.x; mad.lo.s32 %r2, %r9, 64, %r1; mul.wide.s32 %rd1, %r2, 4; add.s64 %rd2, %rd3, %rd1;"
    assert forms_of(text, (64, 1, 1))["%rd2"] == linear_form(1, 4)


def test_a_product_with_an_unknown_factor_is_not_linear() -> None:
    forms = forms_of("mov.u32 %r1, %tid.x; ld.param.u32 %r2, [n]; mul.lo.s32 %r3, %r1, %r2;", (64, 1, 1))
    assert (forms["%r2"], forms["%r3"]) == (UNIFORM, None)


def test_registers_defined_through_each_other_are_found_varying() -> None:
    text = "mov.u32 %r9, %tid.x; and.b32 %r8, %r9, 5; $L: selp.b32 %r1, %r8, %r2, %p1; mov.u32 %r2, %r1; @%p2 bra $L;"
    forms = forms_of(text, (64, 1, 1))
    assert forms["%r1"] is None
    assert forms["%r2"] is None


def every_lane(step: Callable[[int], int]) -> Form:
    return Form(1, tuple(map(step, range(32))))


def test_bits_of_a_thread_index_are_a_base_and_steps() -> None:
    text = "mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 4; and.b32 %r3, %r1, 15; shr.u32 %r4, %r1, 5; shl.b32 %r5, %r3, 3;"
    forms = forms_of(text, (64, 1, 1))
    assert [forms[f"%r{i}"] for i in (2, 3, 4, 5)] == [
        every_lane(lambda lane: lane // 16),
        every_lane(lambda lane: lane % 16),
        UNIFORM,
        every_lane(lambda lane: lane % 16 * 8),
    ]
    assert forms_of(text, (48, 1, 1))["%r3"] is None  # a warp may begin in the middle of a row
    assert forms_of(text, (16, 4, 1))["%r3"] == every_lane(lambda lane: lane % 16)


def test_a_row_times_an_unknown_width_has_a_scalar_for_each_row_of_the_warp() -> None:
    text = "mov.u32 %r1, %tid.x; ld.param.u32 %r9, [n]; shr.u32 %r2, %r1, 4; mul.lo.s32 %r3, %r2, %r9;"
    forms = forms_of(f"{text} and.b32 %r4, %r1, 1; mul.lo.s32 %r5, %r4, %r9;", (64, 1, 1))
    assert (forms["%r3"], forms["%r5"]) == (Form(2), None)


def test_a_signed_quotient_needs_the_sign_to_be_known() -> None:
    text = "shr.s32 %r2, %r1, 31; shr.u32 %r3, %r2, 28; add.s32 %r4, %r1, %r3; shr.s32 %r5, %r4, 4;"
    assert forms_of(f"mov.u32 %r1, %tid.x; {text}", (64, 1, 1))["%r5"] == every_lane(lambda lane: lane // 16)
    forms = forms_of(f"mov.u32 %r6, %tid.x; ld.param.u32 %r7, [n]; sub.s32 %r1, %r6, %r7; {text}", (64, 1, 1))
    assert forms["%r5"] is None


def test_a_counter_in_a_loop_has_no_bound() -> None:
    forms = forms_of(
        "mov.u32 %r1, 0;\n$L1: add.s32 %r1, %r1, 32; shr.s32 %r2, %r1, 31; @%p1 bra $L1;", (64, 1, 1)
    )
    assert forms["%r1"] == UNIFORM
    assert forms["%r2"] == UNIFORM
    assert (forms["%r1"].align, forms["%r2"].align) == (32, 1)  # type: ignore[union-attr]


def test_linear_values_that_may_wrap_are_widened_as_vectors_only_if_bits_made_them() -> None:
    text = "mov.u32 %r1, %tid.x; ld.param.u32 %r9, [n]; and.b32 %r2, %r1, 15; add.s32 %r3, %r2, %r9;"
    forms = forms_of(f"{text} cvt.s64.s32 %rd1, %r3; cvt.u64.u32 %rd2, %r2; add.s32 %r4, %r1, %r9;"
                     " cvt.s64.s32 %rd3, %r4;", (64, 1, 1))  # fmt: skip
    assert (forms["%rd1"], forms["%rd2"], forms["%rd3"]) == (
        None,
        every_lane(lambda lane: lane % 16),
        linear_form(1, 1),
    )


def test_carry_is_never_taken_for_uniform() -> None:
    assert forms_of("addc.u32 %r1, 0, 0;", (64, 1, 1))["%r1"] is None


def test_join() -> None:
    assert join(linear_form(1, 4), linear_form(2, 4)) == linear_form(2, 4)
    assert join(linear_form(1, 4), Form(1)) is None
    assert join(Form(1, tuple(lane // 16 for lane in range(32))), Form(1)) == Form(2)
    assert join(None, UNIFORM) is None


def test_a_table_of_bytes_is_read_like_any_other() -> None:
    for text, data in (
        ("{1, 2, 255}", b"\x01\x02\xff"),
        ("{ 1,\n 2 }", b"\x01\x02"),
        ("{010, 9}", b"\x08\x09"),  # octal
        ("{{1, 2}, {3}}", b"\x01\x02\x03"),
        ("{0x10, 3}", b"\x10\x03"),
        ("{1, 2,}", b"\x01\x02"),
    ):
        (found,) = parse_variable(f".global .align 1 .b8 table[8] = {text}").init
        assert (found.offset, found.data) == (0, data)


def test_a_table_of_millions_takes_little_more_than_itself() -> None:
    count = 1 << 20
    text = f".global .align 4 .b8 table[{count}] = {{{', '.join(['1, 0, 77, 255'] * (count // 4))}}}"
    tracemalloc.start()
    try:
        (found,) = parse_variable(text).init
        assert tracemalloc.get_traced_memory()[1] < 32 * count
    finally:
        tracemalloc.stop()
    assert found.data == bytes((1, 0, 77, 255)) * (count // 4)
