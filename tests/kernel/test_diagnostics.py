"""What compilers say, as data: every format, and headers that lead back to the text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evoengineer.kernel.diagnostics import Diagnostic, parse, prompt_text
from evoengineer.kernel.forbidden import forbidden_in
from evoengineer.kernel.words import needs_of

SOURCE = "line one\n  line two;\nline three\n"


def test_the_formats_of_every_step() -> None:
    log = """kernel.cu(2): error #20: identifier "x" is undefined
      line two;
      ^

kernel.cu(3): warning #177-D: variable "y" was declared but never referenced

kernel.cu:1:10: fatal error: no.h: No such file or directory
    1 | line one
ptxas error   : Entry function '_Z1kv' uses too much shared data (0x13880 bytes, 0xc000 max)
/usr/bin/ld: kernel.o: in function `f()': kernel.cu:(.text+0x5): undefined reference to `g()'
"""
    found = parse(log, SOURCE)
    assert [(d.line, d.severity, d.message.split(" ")[0], d.source_line) for d in found] == [
        (2, "error", "identifier", "line two;"),
        (3, "warning", "variable", "line three"),
        (1, "error", "no.h:", "line one"),
        (0, "error", "Entry", ""),
        (0, "error", "undefined", ""),
    ]
    assert found[2].column == 10
    text = prompt_text(found)
    assert "warning" not in text
    assert "/usr" not in text


def test_an_error_in_a_header_is_moved_to_the_text() -> None:
    log = """/some/headers/evo/dtype.h(95): error: static assertion failed with "no such type"
          detected during:
            instantiation of class "c10::CPPTypeToScalarType<T> [with T=X]" at line 12 of /some/headers/evo/tensor.h
            instantiation of "T *at::Tensor::data_ptr<T>() const [with T=X]" at line 3 of kernel.cu
"""
    (found,) = parse(log, SOURCE)
    assert (found.file, found.line, found.source_line) == ("kernel.cu", 3, "line three")
    assert "/some" not in found.text()


def test_messages_of_several_lines_and_their_notes() -> None:
    log = """kernel.cu(2): error: no operator "+" matches these operands
            operand types are: torch::Tensor + torch::Tensor
      auto d = a + b;
                 ^
kernel.cu(2): note #3328-D: built-in operator+(<promoted arithmetic>) does not match
      auto d = a + b;
"""
    (found,) = parse(log, SOURCE)
    assert found.message.endswith("operand types are: torch::Tensor + torch::Tensor")
    (refused,) = forbidden_in([found])
    assert refused.message.startswith("operator + on tensors: library operations are not available")


def test_only_operations_are_forbidden() -> None:
    unknown = Diagnostic("kernel.cu", 1, 0, "error", 'namespace "torch" has no member "frobnicate"', "")
    known = Diagnostic("kernel.cu", 1, 0, "error", 'namespace "at" has no member "conv2d"', "")
    elsewhere = Diagnostic("kernel.cu", 1, 0, "error", 'namespace "mine" has no member "conv2d"', "")
    into = Diagnostic("kernel.cu", 1, 0, "error", 'namespace "at" has no member "matmul_out"', "")
    library = Diagnostic("kernel.cu", 1, 0, "error", 'identifier "cublasHandle_t" is undefined', "")
    gathering = 'no suitable conversion from "at::Tensor" to "const at::indexing::TensorIndex" exists'
    gather = Diagnostic("kernel.cu", 1, 0, "error", gathering, "")
    own = Diagnostic("kernel.cu", 1, 0, "error", 'identifier "cublast" is undefined', "")
    found = forbidden_in([unknown, known, elsewhere, into, library, gather, own])
    assert [each.message.split(": ")[0] for each in found] == [
        "at::conv2d",
        "at::matmul_out",
        "cublasHandle_t",
        "Tensor::index with a tensor",
    ]


def test_names_of_headers_stay_whole() -> None:
    (found,) = parse("kernel.cu:1:10: fatal error: ATen/cuda/Odd.cuh: No such file or directory\n", SOURCE)
    assert found.message == "ATen/cuda/Odd.cuh: No such file or directory"
    (found,) = parse('kernel.cu(1): error: cannot open source file "/secret/place/x.h"\n', SOURCE)
    assert found.message == 'cannot open source file "x.h"'


@given(st.text(max_size=300), st.text(max_size=100))
def test_any_log_can_be_read(log: str, source: str) -> None:
    for found in parse(log, source):
        assert found.severity in ("error", "warning")
        assert found.line >= 0


def test_words_switch_parts_on() -> None:
    plain = needs_of("#include <torch/extension.h>\ntorch::Tensor f(torch::Tensor x) { return x; }")
    assert plain == needs_of("#include <ATen/ATen.h>\nint x;")
    assert (plain.parts, plain.headers) == ((), ())
    rich = needs_of("#include <torch/extension.h>\nstd::vector<at::Half> v; std::cout << FLT_MAX; __half h;")
    assert set(rich.parts) == {"VECTOR", "HALF", "STREAMS"}
    assert set(rich.headers) == {"iostream", "cfloat", "cuda_fp16.h"}
    quiet = '#include <torch/extension.h>\n// half of the vector\nint half = 2; /* std::cout */ f("half x", 1 + half);'
    assert needs_of(quiet) == plain
    for text in (
        "half x;",
        "half* p;",
        "f<half>();",
        "(half)y;",
        "half(1.f);",
        "sizeof(half)",
        "using T = half;",
    ):
        assert needs_of(f"at::Tensor t; {text}").headers == ("cuda_fp16.h", "torch/extension.h"), text
    assert needs_of("torch::Tensor f();").headers == ("torch/extension.h",)
    assert needs_of("torch::Tensor f() { int a[3]; g(std::size(a)); }").headers == (
        "iterator",
        "torch/extension.h",
    )
    assert needs_of("torch::Tensor f() { g(std::max(1, 2)); }").headers == (
        "evo/basics.h",
        "torch/extension.h",
    )
    assert needs_of("std::vector<int> v; void f() { std::sort(v.begin(), v.end()); }").headers == ()


def test_special_functions_are_read_when_they_are_named() -> None:
    head = "#include <torch/extension.h>\n"
    for text in (
        "std::beta(1, 2)",
        "std :: cyl_bessel_jf(0, x)",
        "using namespace std;",
        "namespace s = ::std;",
    ):
        assert needs_of(head + text).special_functions, text
        assert needs_of(text).special_functions, text  # not for PyTorch
    assert not needs_of(head + "float beta = std::exp(1.0f); // std::beta").special_functions
