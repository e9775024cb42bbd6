"""Forms are promises: what a form says of a value holds in every lane of every warp, whatever the kernel is given."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from evoengineer.sim.codegen.forms import Form, infer_forms
from evoengineer.sim.ptx.body import parse_body
from evoengineer.sim.ptx.model import Body
from evoengineer.sim.ptx.parser import parse_module

BITS = 1 << 32
GIVEN = 3  # registers that a thread begins with: its indices and a parameter
_CONSTANTS = st.one_of(st.sampled_from([1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 60, 96]), st.integers(0, BITS - 1))
_SHAPES = [
    (32, 1, 1),
    (64, 1, 1),
    (256, 1, 1),
    (16, 16, 1),
    (8, 4, 2),
    (4, 16, 1),
    (1, 64, 1),
    (32, 4, 1),
    (48, 2, 1),
]


_OPERATIONS = (
    "add.s32",
    "sub.s32",
    "and.b32",
    "or.b32",
    "xor.b32",
    "shr.u32",
    "shr.s32",
    "shl.b32",
    "mul.lo.s32",
)
Step = tuple[str, int, int | str]  # operation, register, register or constant


@st.composite
def programs(draw: st.DrawFn) -> list[Step]:
    """Each step gives a new register its value."""
    steps: list[Step] = []
    for number in range(GIVEN, GIVEN + draw(st.integers(1, 9))):
        op = draw(st.sampled_from(_OPERATIONS))
        earlier = st.integers(0, number - 1)
        if op.startswith("sh"):
            second: int | str = draw(st.integers(0, 40))
        else:
            second = draw(_CONSTANTS) if draw(st.booleans()) else f"%r{draw(earlier)}"
        steps.append((op, draw(earlier), second))
    return steps


def signed(value: int) -> int:
    return value - BITS if value >> 31 else value


def result(op: str, a: int, b: int) -> int:
    name = op.partition(".")[0]
    if name == "shr":
        count = min(b, 32)
        return ((signed(a) if op.endswith("s32") else a) >> count) % BITS
    if name == "shl":
        return (a << min(b, 32)) % BITS
    return {"add": a + b, "sub": a - b, "and": a & b, "or": a | b, "xor": a ^ b, "mul": a * b}[name] % BITS


def run(program: list[Step], x: int, y: int, n: int) -> list[int]:
    """All registers of one thread."""
    registers = [x, y, n]
    for op, a, b in program:
        registers.append(result(op, registers[a], registers[int(b[2:])] if isinstance(b, str) else b))
    return registers


@settings(max_examples=1000)
@given(programs(), st.sampled_from(_SHAPES), st.integers(0, BITS - 1))
def test_what_a_form_says_holds_in_every_lane(
    program: list[Step], shape: tuple[int, int, int], n: int
) -> None:
    lines = ["mov.u32 %r0, %tid.x;", "mov.u32 %r1, %tid.y;", "ld.param.u32 %r2, [n];"]
    lines += [f"{op} %r{GIVEN + i}, %r{a}, {b};" for i, (op, a, b) in enumerate(program)]
    forms = infer_forms(_body("\n".join(lines)), shape, 0)
    wide, high, deep = shape
    threads = [(t % wide, t // wide % high) for t in range(wide * high * deep)]
    for first in range(0, len(threads) // 32 * 32, 32):
        warp = [run(program, x, y, n) for x, y in threads[first : first + 32]]
        for i in range(GIVEN + len(program)):
            form = forms[f"%r{i}"]
            if form is not None:
                _holds(form, [lane[i] for lane in warp])


def _holds(form: Form, values: list[int]) -> None:
    for lane, value in enumerate(values):
        base = values[lane // form.lanes * form.lanes]
        assert (base + form.steps[lane]) % BITS == value
        assert base % form.align == 0
        assert value <= form.most


def _body(text: str) -> Body:
    head = ".version 8.0\n.target sm_80\n.address_size 64\n"
    module = parse_module(
        f"{head}.visible .entry k(.param .u32 n)\n{{\n.reg .b32 %r<16>;\n{text}\nret;\n}}\n"
    )
    return parse_body(module.functions["k"])
