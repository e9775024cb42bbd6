"""Texts in published styles become plain ones that mean the same, and what is made of them is valid."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import evoengineer
from evoengineer.propose.rewriter.change import Rewrite, Task
from evoengineer.propose.rewriter.tiling import Tiling
from evoengineer.propose.rewriter.warp_per_row import WarpPerRow
from evoengineer.propose.syntax.arithmetic import value_of
from evoengineer.propose.syntax.kernels import kernels
from evoengineer.propose.syntax.macros import expanded
from evoengineer.propose.syntax.plain import plain
from evoengineer.propose.syntax.tree import parse, walk

pytest.importorskip("torch")

from tests.propose.corpus import CORPUS, Specimen
from tests.propose.styles import STYLES

SUITES = Path(evoengineer.__file__).parent / "suites"
FOUND = {each.name: each for each in (*STYLES, *CORPUS)}
ARGUMENTS = {
    "convolution": (
        "x: float32 tensor [8, 16, 64, 64]",
        "w: float32 tensor [32, 16, 3, 3]",
        "b: float32 tensor [32]",
    ),
    "batched": ("a: float32 tensor [8, 512, 512]", "b: float32 tensor [8, 512, 512]"),
    "": ("a: float32 tensor [512, 512]", "b: float32 tensor [512, 512]"),
}


def task(name: str) -> Task:
    return Task(next(value for key, value in ARGUMENTS.items() if name.startswith(key)), 128)


def body(statements: str, parameters: str = "const float* a, float* c, int n") -> str:
    """What becomes of the body of a kernel, without spaces."""
    text = plain(f"__global__ void run({parameters}) {{ {statements} }}")
    inside = text[text.rindex("run(") :].partition("{")[2].rpartition("}")[0]
    return "".join(inside.split())


def test_a_plain_text_stays_as_it_is() -> None:
    found = [path.read_text() for path in sorted(SUITES.rglob("baseline.cu"))]
    assert len(found) > 90
    assert sum(plain(text) != text for text in found) <= 2, "arg-max and arg-min take extremes by conditions"
    assert all(plain(plain(text)) == plain(text) for text in found)
    assert all(plain(plain(each.source)) == plain(each.source) for each in (*STYLES, *CORPUS))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("float s{0.f};", "float s = 0.f;"),
        ("float s(0.5f); int t{};", "float s = 0.5f; int t = 0;"),
        ("float s = __ldg(&a[n + 1]) + __ldg(a + n) + __ldg(a);", "float s = a[n + 1] + a[n] + a[0];"),
        ("float m = 0; if (a[n] > m) { m = a[n]; }", "float m = 0; m = fmaxf(m, a[n]);"),
        ("float m = 0; if (m > a[n]) m = a[n];", "float m = 0; m = fminf(m, a[n]);"),
        ("float m = 0; m = a[n] > m ? a[n] : m;", "float m = 0; m = fmaxf(m, a[n]);"),
        ("float m = 0; m = m < a[n] ? m : a[n];", "float m = 0; m = fminf(m, a[n]);"),
        ("int m = 0; if (n > m) m = n;", "int m = 0; if (n > m) m = n;"),  # no floats
        ("float s = 0; s = s + a[n] * 2;", "float s = 0; s += a[n] * 2;"),
        ("float s = 0; s = s + a[n] + 2;", "float s = 0; s = s + a[n] + 2;"),  # rounds otherwise
        ("int t = 0; while (t < n) { c[t] = a[t]; ++t; }", "for (int t = 0; t < n; ++t) { c[t] = a[t]; }"),
        ("int t; for (t = 0; t < n; t += 1) c[t] = 0;", "for (int t = 0; t < n; ++t) c[t] = 0;"),
        (
            "int t; for (t = 0; t < n; t++) c[t] = 0; c[t] = 1;",
            "int t; for (t = 0; t < n; t++) c[t] = 0; c[t] = 1;",
        ),
        ("for (auto t = 0; n > t; t = t + 1) c[t] = 0;", "for (int t = 0; t < n; ++t) c[t] = 0;"),
        (
            "c[n] = 0; for (int t = 0; t < n; ++t) { c[n] += a[t]; }",
            "float of_c = 0; for (int t = 0; t < n; ++t) { of_c += a[t]; } c[n] = of_c;",
        ),
        (
            "c[n] = 0; for (int t = 0; t < n; ++t) { c[t] += a[t]; }",
            "c[n] = 0; for (int t = 0; t < n; ++t) { c[t] += a[t]; }",
        ),
        (
            "const float* p = a; float s = 0; for (int t = 0; t < n; ++t) { s += *p * p[1]; p += n; }",
            "const float* p = a; float s = 0; for (int t = 0; t < n; ++t) { s += p[t * (n)] * p[t * (n) + (1)]; }",
        ),
        (
            "float s = 0; for (int t = 0; t < n; ++t) { int u = t - 1; if (u >= 0) s += a[u]; }",
            "float s = 0; for (int t = 0; t < n; ++t) { int u = t - 1; if (!(u >= 0)) continue; s += a[u]; }",
        ),
    ],
)
def test_forms(before: str, after: str) -> None:
    assert body(before) == "".join(after.split())


def test_macros_are_expanded_as_the_preprocessor_does() -> None:
    text = (
        "#define AT(i, j) ((i) * n + (j))  // a place\n#define TWICE(x) AT(x, \\\n    x)\n"
        "#define N 16\n#define F(x) #x\n"
        'int a = TWICE(f(1, 2)); int b = N; char* c = "AT(1, 2)"; int d = F(1);\n'
    )
    lines = expanded(text).splitlines()
    assert lines[-1] == 'int a = ((f(1, 2)) * n + (f(1, 2))); int b = N; char* c = "AT(1, 2)"; int d = F(1);'
    for hidden in (
        "#ifdef X\n#define A(x) x\n#endif\n",
        "#define A(x) x\n#undef A\n",
        "#define A(x, ...) x\n",
    ):
        assert expanded(hidden + "int a = A(1);").endswith("A(1);")


def test_every_way_a_template_is_launched_has_an_instance() -> None:
    text = plain(
        "template <typename T, int N = 4> __global__ void run(T* x) { x[0] = T(N); }\n"
        "void f() { run<float, 8><<<1, 32>>>(p); run<double><<<1, 32>>>(q); run<<<1, 32>>>(y.data_ptr<float>()); }"
    )
    assert {each.name for each in kernels(text)} == {"run_float_8", "run_double_4", "run_float_4"}
    assert "x[0] = float(8);" in text
    assert text.startswith("template <typename T, int N = 4>")


def test_a_dispatch_gets_a_branch_for_float_and_keeps_the_others() -> None:
    text = plain(FOUND["template_and_dispatch"].source)
    assert "if (A.scalar_type() == torch::kFloat32) {" in text
    assert "matmul_kernel_float<<<blocks, threads>>>(A.data_ptr<float>()" in text
    assert "matmul_kernel<scalar_t><<<" in text


def test_a_function_is_written_out_with_names_of_its_own() -> None:
    text = plain(FOUND["dot_function"].source)
    (kernel,) = kernels(text)
    written = kernel.body.text.decode() if kernel.body.text else ""
    assert "dot(" not in written
    assert "s_of_dot += a_of_dot[i_of_dot] * b_of_dot[i_of_dot * n]" in written


def with_accessors(statements: str, made: str = "auto c = torch::empty_like(a);", **passed: str) -> str:
    """A kernel that is given accessors of a and c, and its host."""
    kind, arguments = "torch::PackedTensorAccessor32<float, 2, torch::DefaultPtrTraits>", {"a": "a", "c": "c"}
    taken = ", ".join(
        passed.get(name, f"{tensor}.packed_accessor32<float, 2, torch::DefaultPtrTraits>()")
        for name, tensor in arguments.items()
    )
    return (
        f"__global__ void run(const {kind} a, {kind} c) {{ const int i = threadIdx.x; {statements} }}\n"
        f"torch::Tensor forward(torch::Tensor a) {{ {made} run<<<1, 32>>>({taken}); return c; }}\n"
    )


def test_accessors_become_pointers_to_contiguous_tensors() -> None:
    text = plain(with_accessors("if (i < a.size(0)) c[i][0] = a[i][int(a[0][i + 1])];"))
    assert "run(const float* a, int a_size0, int a_size1, float* c, int c_size1)" in text
    assert "if (i < a_size0) c[i * c_size1 + 0] = a[i * a_size1 + (int(a[0 * a_size1 + (i + 1)]))];" in text
    assert "a.contiguous().data_ptr<float>()" in text, "a pointer knows no strides"
    assert "torch::empty_like(a).contiguous();" in text, "like a tensor that may lie otherwise in memory"
    restricted = plain(
        with_accessors("c[i][0] = a[i][0];").replace("torch::DefaultPtrTraits", "torch::RestrictPtrTraits")
    )
    assert "const float* __restrict__ a" in restricted


@pytest.mark.parametrize(
    "text",
    [
        with_accessors("auto row = a[i]; c[i][0] = row[0];"),
        with_accessors("c[i][0] = a.stride(0);"),
        with_accessors("c[i][0] = a.data()[i];"),
        with_accessors("c[i][0] = a[i][a.size(1) - 1];"),
        with_accessors("c[i][0] = a[i][0];", made="auto c = torch::empty({2, 2}).t();"),
        with_accessors("c[i][0] = a[i][0];", made="auto c = torch::empty({2, 2}); c = c.t();"),
        with_accessors("c[i][0] = a[i][0];", made="auto c = a;"),
        with_accessors("c[i][0] = a[i][0];", a="made_elsewhere"),
        with_accessors("a[i][0] = 1; c[i][0] = 2;"),  # an argument of unknown strides is written
    ],
)
def test_accessors_of_which_more_is_asked_are_left_alone(text: str) -> None:
    assert plain(text) == text


def test_a_function_that_calls_itself_is_left_alone() -> None:
    text = (
        "__device__ float f(const float* a, int n) { return n > 0 ? g(a, n - 1) : a[0]; }\n"
        "__device__ float g(const float* a, int n) { return a[n] + f(a, n); }\n"
        "__global__ void run(const float* a, float* c) { c[0] = f(a, 3); }"
    )
    assert plain(text) == text


def test_casts_are_no_obstacle_to_arithmetic() -> None:
    for written in (
        "(int)x.size(0) + 1",
        "int(x.size(0)) + 1",
        "static_cast<unsigned int>(x.size(0)) + (size_t)1",
    ):
        assert value_of(written, {"x.size(0)": 8}) == 9


@pytest.mark.parametrize("each", STYLES, ids=lambda each: each.name)
def test_every_style_is_understood(each: Specimen) -> None:
    rows = "thread" in each.name
    rewrite: Rewrite = WarpPerRow() if rows else Tiling()
    first = next(iter(rewrite.changes(plain(each.source), task(each.name), Random(0))))
    code = first.source.replace("__align__(16) ", "")  # which the grammar does not know
    assert not any(node.type == "ERROR" for node in walk(parse(code).root_node))
    if not rows:
        kind = {"convolution": "preloaded", "transposition": "turned"}.get(
            each.name.partition("_")[0], "staged"
        )
        assert kind in first.what


@pytest.mark.parametrize(
    "name",
    [
        "accessors",
        "template_and_dispatch",
        "walking_pointers",
        "sum_in_memory",
        "convolution_loop_macro",
        "convolution_grid_of_three",
        "softmax_of_a_thread",
        "layer_norm_of_a_thread",
        "transposition",
        "transpose_add",
    ],
)
def test_what_is_made_of_a_style_is_valid(name: str) -> None:
    specimen = FOUND[name]
    rewrite: Rewrite = WarpPerRow() if "thread" in name else Tiling()
    first = next(iter(rewrite.changes(plain(specimen.source), task(name), Random(0))))
    verdict = specimen.judged(first.source)
    assert verdict.outcome == "valid", verdict.evidence


def test_a_constructor_is_no_function_to_write_out() -> None:
    source = "struct Sum { const float* a; __device__ Sum(const float* p) : a(p) {} };"
    assert plain(source) == source
