"""The identity of machine code, on texts made up by hypothesis; no compiler is needed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evoengineer.kernel.identity import device_lines

LINES = [
    "\tld.param.u64 \t%rd1, [add_param_0];",
    "\tmov.u32 \t%r2, %ctaid.x;",
    "$L__BB0_2:",
    "\tadd.f32 \t%f3, %f2, %f1;",
    "\tret;",
]
NOISE = [
    "",
    "// comment",
    "\t.loc\t1 5 0",
    "$L__tmp3:",
    '\t.file\t1 "kernel.cu"',
    "\t// begin inline asm",
    "   ",
]
DEBUG = "\t.section\t.debug_str\n\t{\n$L__info_string0:\n.b8 95\n\t}"


@given(st.lists(st.tuples(st.integers(0, len(LINES)), st.sampled_from([*NOISE, DEBUG]))))
def test_noise_does_not_count(noise: list[tuple[int, str]]) -> None:
    lines = list(LINES)
    for number, (place, text) in enumerate(sorted(noise, reverse=True)):
        lines.insert(place, text.replace("tmp3", f"tmp{number}"))
    assert list(device_lines("\n".join(lines))) == list(device_lines("\n".join(LINES)))


@pytest.mark.parametrize(
    "one, other",
    [
        ("\t.loc\t1 5 0 mov.u32 %r2, 1;", "\t.loc\t1 5 0 mov.u32 %r2, 2;"),  # code behind a directive
        ('\t.file\t1 "a.cu" mov.u32 %r2, 1;', '\t.file\t1 "a.cu" mov.u32 %r2, 2;'),
        ("/*\n// */ mov.u32 %r2, 1;", "/*\n// */ mov.u32 %r2, 2;"),  # what looks like a comment is none
        ('.pragma "nounroll//1";', '.pragma "nounroll//2";'),
        ("bra $L__tmp3;\n$L__tmp3:\nret;", "$L__tmp3:\nbra $L__tmp3;\nret;"),  # a label that somebody uses
    ],
)
def test_what_only_looks_like_noise_counts(one: str, other: str) -> None:
    assert list(device_lines(one)) != list(device_lines(other))


@given(st.permutations(LINES), st.sampled_from(LINES))
def test_code_counts(order: list[str], changed: str) -> None:
    same = list(device_lines("\n".join(LINES)))
    assert (list(device_lines("\n".join(order))) == same) == (order == LINES)
    other = [line.replace("%", "%x") if line == changed and "%" in line else line for line in LINES]
    assert (list(device_lines("\n".join(other))) == same) == (other == LINES)
