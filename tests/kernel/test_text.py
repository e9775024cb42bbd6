"""The identity of a kernel's text."""

from hypothesis import given
from hypothesis import strategies as st

from evoengineer.kernel.text import Kernel, lambda_flags, normalised, with_half_operators

SOURCE = """#include <torch/extension.h>
#define N 4 // four
__global__ void k(float* x) { /* nothing */ x[0] = 1; }
const char* s = "// not a comment";
"""


def test_comments_and_layout_do_not_matter() -> None:
    other = (
        SOURCE.replace("// four", "")
        .replace("/* nothing */", "\n\n    // more\n")
        .replace("x[0] = 1;", "x[0]  =\n 1;")
    )
    assert Kernel(other).id == Kernel(SOURCE).id


def test_code_and_strings_do() -> None:
    assert Kernel(SOURCE.replace("= 1", "= 2")).id != Kernel(SOURCE).id
    assert Kernel(SOURCE.replace("// not", "// a")).id != Kernel(SOURCE).id


def test_directives_keep_their_lines() -> None:
    assert normalised("#define A 1\n+ 2\n") != normalised("#define A 1 + 2\n")


@given(st.text(alphabet="ab;\"'/*\\\n #R()", max_size=60))
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    once = normalised(text)
    assert normalised(once) == once or "\\" in text or "/" in once


@given(st.text(alphabet="ab;{} \n", max_size=60))
def test_white_space_never_matters(text: str) -> None:
    assert Kernel(text.replace("\n", "\n\n").replace(" ", "  ")).id == Kernel(text).id


def test_the_comment_that_says_how_to_compile_is_part_of_the_identity() -> None:
    off = "// half-operators: off\n" + SOURCE
    assert Kernel(off).id != Kernel(SOURCE).id
    assert Kernel("// half-operators: on\n" + SOURCE).id == Kernel(SOURCE).id


def test_only_opening_comments_switch_half_operators() -> None:
    assert with_half_operators(SOURCE)
    assert not with_half_operators(SOURCE, unsaid=False)
    assert not with_half_operators("/* a kernel\n * half-operators: off */\n" + SOURCE)
    assert with_half_operators("// about\n\n// half-operators: on\n" + SOURCE, unsaid=False)
    assert with_half_operators(SOURCE + "// half-operators: off\n")


def test_lambdas_for_the_device_are_seen() -> None:
    for annotated in (
        "[=] __device__(int i) {}",
        "[&x]  __host__\n__device__ (int i) {}",
        "[] GPU_LAMBDA (int i) {}",
    ):
        assert lambda_flags(f"auto f = {annotated};")
    for plain in ("[=](int i) {}", "[&] { f(); }", "x[i] * f(y)", "[[nodiscard]] int f();", "int a[3]; f();"):
        assert not lambda_flags(f"{plain};")
