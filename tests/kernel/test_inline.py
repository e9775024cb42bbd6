"""Reading Python files with load_inline: what is understood, what is refused and why, and that nothing is run."""

from __future__ import annotations

import ast
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evoengineer.kernel.build import Build, build_kernel
from evoengineer.kernel.inline import Argument, Signature, Unreadable, in_one_file, is_inline, signature_of
from evoengineer.kernel.inline.cpp import Text, without_bindings
from evoengineer.kernel.inline.writing import model_file

ONE = Signature((Argument("x", "tensor", 2),))
REFERENCE = """
SIZE = 3
class Model: pass
def get_init_inputs():
    return [SIZE, 2 * SIZE, 0.25, (1, 2)]
"""
FILE = '''
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

SOURCE = """
__global__ void k(float* y, int n) { int i = threadIdx.x; if (i < n) y[i] = 1.0f; }
torch::Tensor go(torch::Tensor x, double a, int64_t b) {
    auto y = torch::empty_like(x);
    k<<<1, 32>>>(y.data_ptr<float>(), x.numel());
    return y;
}
"""
ext = load_inline(name="e", cpp_sources="torch::Tensor go(torch::Tensor x, double a, int64_t b);", cuda_sources=SOURCE,
                  functions=["go"])

class ModelNew(nn.Module):
    def __init__(self%s):
        super().__init__()
        %s

    def forward(self, x%s):
        %s
'''


def file(body: str, start: str = "pass", parameters: str = "", inputs: str = "") -> str:
    indented = [text.replace("\n", "\n        ") for text in (start, body)]
    return FILE % (parameters, indented[0], inputs, indented[1])


def wrapper(text: str) -> str:
    """The function that takes forward's place, without white space at its ends."""
    return text[text.index(" model_forward(") :].partition("PYBIND11_MODULE")[0]


def call_of(body: str, signature: Signature = ONE, **parts: str) -> str:
    return wrapper(in_one_file(file(body, **parts), signature))


def reason(source: str, signature: Signature = ONE) -> Unreadable:
    with pytest.raises(Unreadable) as caught:
        in_one_file(source, signature)
    return caught.value


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("return ext.go(x, 1.5, 2)", "go(model_argument0, 1.5, 2)"),
        ("return ext.go(x, x.size(0), x.shape[-1])", "go(model_argument0, model_argument0.size(0), model_argument0.size(-1))"),
        ("n, m = x.shape\nreturn ext.go(x, n / m, (n + m - 1) // m)", "static_cast<double>(model_argument0.size(0)) /"),
        ("return ext.go(x.contiguous(), math.sqrt(x.numel()), int(True))", "std::sqrt(static_cast<double>(model_argument0.numel()))"),
        ("return ext.go(x, b=3, a=2.0)", "go(model_argument0, 2.0, 3)"),
        ("y = x.view(-1, *x.shape[1:])\nreturn ext.go(y, 0, 0)", ".view({static_cast<int64_t>(-1), static_cast<int64_t>(model_argument0.size(1))})"),
        ("return ext.go(x, max(1, x.size(0)), min(3, 4))", "std::max<int64_t>(1, model_argument0.size(0))"),
        ("return ext.go(x, 1 if x.dim() == 2 else 3, 0)", "? 1 : 3)"),
        ("for i in range(2):\n    x = ext.go(x, i, i)\nreturn x", "go(model_value1, 1, 1)"),
        ("return ext.go(x.to(torch.float16).cuda(), float('inf'), -1)", "INFINITY, -1)"),
        ("return ext.go(x.transpose(0, 1).T, 0, 0)", ".transpose(0, 1)"),
        ("if x.dtype != torch.float32:\n    x = x.float()\nreturn ext.go(x, 0, 0)", "if ((model_argument0.scalar_type() != torch::kFloat32))"),
        ("return ext.go(x, 0, 0), ext.go(x, 1, 1)", "std::vector<torch::Tensor>{"),
        ("y = torch.empty_like(x, memory_format=torch.contiguous_format)\next.go(x, 0, 0)\nreturn y", ".memory_format(torch::MemoryFormat::Contiguous))"),
        ("return ext.go(x.contiguous(memory_format=torch.channels_last), 0, 0)", ".contiguous(torch::MemoryFormat::ChannelsLast)"),
        ("return ext.go(x.to(memory_format=torch.channels_last), 0, 0)", ".contiguous(torch::MemoryFormat::ChannelsLast)"),
        ("return ext.go(x, 1 if x.is_contiguous(memory_format=torch.channels_last) else 2, 0)", ".is_contiguous(torch::MemoryFormat::ChannelsLast)"),
        ("try:\n    return ext.go(x, 0, 0)\nexcept RuntimeError:\n    return F.relu(x)", "return model_value1;"),
    ],
)  # fmt: skip
def test_forward_becomes_a_function(body: str, code: str) -> None:
    assert code in call_of(body)


def test_the_text_compiles_with_branches_loops_and_new_tensors() -> None:
    body = """rows = x.shape[0]
out = torch.zeros(rows, 4, device=x.device, dtype=x.dtype)
if rows > 3 and not x.is_contiguous():
    x = x.contiguous()
elif rows == 2:
    out = x.new_empty((rows, 4))
else:
    rows = rows * 2
if x.dim() != 2:
    raise ValueError("a matrix")
assert out.numel() % 2 == 0
for scale in (0.5, 2):
    out = ext.go(out, scale * math.sqrt(rows) + max(rows, 2) ** 0.5, rows)
return out if rows > 1 else x"""
    built = build_kernel(in_one_file(file(body), ONE), sm=89)
    assert isinstance(built, Build), built.text


def test_a_new_tensor_stays_one_tensor() -> None:
    code = call_of("y = torch.empty_like(x)\next.go(y, 0, 0)\nreturn y")
    assert code.count("torch::empty_like") == 1
    assert "return model_value1;" in code


INITIAL = Signature(
    (Argument("x", "tensor", 2), Argument("w", "tensor", 2), Argument("b", "tensor", 1)), REFERENCE
)


def test_numbers_of_init_come_from_the_shapes_of_parameters_where_these_have_them() -> None:
    code = call_of(
        "return ext.go(self.layer.weight, self.scale, self.n + self.m + self.pair[1] + self.twice)",
        INITIAL,
        parameters=", n, m, scale, pair",
        start="self.layer = nn.Linear(n, 5)\nself.n, self.m = n, m\nself.scale = scale\nself.pair = pair\nself.twice = 2 * n",
    )
    assert "model_init_n = model_argument1.size(1);" in code
    assert "model_init_m = 6;" in code  # no parameter has that size
    assert "go(model_argument1, 0.25, " in code


def test_parameters_are_found_by_name_or_else_by_order() -> None:
    named = Signature((*INITIAL.arguments[:1], Argument("late", "tensor", 1), Argument("early", "tensor", 2)))
    start = "self.early = nn.Parameter(torch.rand(2, 2))\nself.late = nn.Parameter(torch.rand(2))"
    body = "return ext.go(self.early, 0, 0)"
    assert "go(model_argument2, " in call_of(body, named, start=start)
    assert "go(model_argument1, " in call_of(body, INITIAL, start=start)


def test_state_comes_in_the_order_of_state_dict() -> None:
    names = (
        "x",
        "own",
        "buffer",
        "norm_weight",
        "norm_bias",
        "norm_mean",
        "norm_var",
        "norm_count",
        "last_weight",
    )
    signature = Signature(tuple(Argument(name, "tensor", 1) for name in names))
    code = call_of(
        "return ext.go(self.last[0].weight, 0, 0), ext.go(self.norm.running_var, 0, 0), ext.go(self.table, 0, 0), "
        "ext.go(self.own2, 0, 0)",
        signature,
        start="self.norm = nn.BatchNorm2d(3)\nself.last = nn.Sequential(nn.Linear(3, 4, bias=False), nn.ReLU())\n"
        "self.register_buffer('table', torch.ones(3))\nself.own2 = nn.Parameter(torch.rand(3) * 2)",
    )
    for place in (8, 6, 2, 1):
        assert f"go(model_argument{place}, 0, 0)" in code


def test_numbers_among_the_problems_arguments_are_numbers() -> None:
    signature = Signature((Argument("x", "tensor", 2), Argument("eps", "float"), Argument("dim", "int")))
    code = call_of("return ext.go(x, eps, dim % 2)", signature, inputs=", eps, dim")
    assert code.startswith(
        " model_forward(torch::Tensor model_argument0, double model_argument1, int64_t model_argument2)"
    )
    assert "go(model_argument0, model_argument1, (model_argument2 % 2))" in code


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("return F.relu(ext.go(x, 0, 0))", "torch.nn.functional.relu"),
        ("return torch.matmul(x, x)", "torch.matmul"),
        ("return ext.go(x, 0, 0) * 2", "operator * on tensors"),
        ("x += 1\nreturn ext.go(x, 0, 0)", "operator + on tensors"),
        ("return ext.go(x.softmax(-1), 0, 0)", "Tensor.softmax"),
        ("return ext.go(-x, 0, 0)", "operator - on tensors"),
        ("x[0] = 3\nreturn ext.go(x, 0, 0)", "elements"),
        ("return ext.go(x, x.sum(), 0)", "Tensor.sum"),
        ("return nn.ReLU()(ext.go(x, 0, 0))", "nn.ReLU"),
        ("return torch.empty(3).random_()", "Tensor.random_"),
    ],
)  # fmt: skip
def test_computing_outside_the_kernel_is_forbidden(body: str, named: str) -> None:
    found = reason(file(body))
    assert found.forbidden
    assert named in str(found)
    assert "write it as a CUDA kernel" in str(found)
    assert found.line > 0


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (file("return x"), "calls no function of a load_inline extension"),
        (file("ext.go(x, 0, 0)"), "returns nothing"),
        (file("return ext.stop(x)"), "it has: go"),
        (file("return ext.go(x, y, 0)"), "y is not defined"),
        (file("return {'y': ext.go(x, 0, 0)}"), "instead of tensors"),
        (file("while x: pass"), "while"),
        (file("return self.forward(x)"), "too deeply"),
        (file("return ext.go(x, 0, 0)").replace("cuda_sources=SOURCE", "cuda_sources=read()"), "read is not defined"),
        (file("return ext.go(x, 0, 0)").replace("load_inline(name", "load(name").replace("import load_inline", "import load"), "give the sources to load_inline"),
        (file("return ext.go(x, 0, 0)", start="self.w = nn.Parameter(torch.rand(3))"), "holds 1 parameters (w)"),
        (file("return ext.go(x, 0, 0)", inputs=", y"), "takes 2 inputs"),
        (file("return ext.go(x, n, 0)", parameters=", n", start="self.n = n"), "n is not"),
        ("import torch\nclass ModelNew(:\n", "no Python"),
        ("import torch\nclass ModelNew(" + "(" * 3000, "no Python"),
        ("import torch\nload_inline = 1\n", "no class ModelNew"),
        (file("return ext.go(x, 0, 0)").replace('"""\next', '""" * 10**9\next'), "too long"),
        (file("return ext.go(x, 0, 0)").replace('"""\next', '""" + "%99999999d" % 3\next'), "too wide"),
        (file("return ext.go(x, 9**9**9, 0)"), "too large"),
        (file("for i in range(10**9): pass"), "rounds"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_says_why(source: str, said: str) -> None:
    found = reason(source)
    assert said in str(found)
    assert not found.forbidden


def test_nothing_is_run(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    act = f"open({str(trace)!r}, 'w').write('x')"
    source = (
        file(f"{act}\nreturn ext.go(x, 0, 0)", start=act)
        + f"\n{act}\n__import__('os').system('touch {trace}')\n"
    )
    assert not reason(source).forbidden
    in_one_file(source.replace(act, "pass", 2), ONE)
    assert not trace.exists()


def test_which_texts_are_meant() -> None:
    assert is_inline(file("return ext.go(x, 0, 0)"))
    assert not is_inline("// for load_inline(...)\n#include <torch/extension.h>\n__global__ void k() {}\n")
    assert not is_inline(
        "/* import torch\nimport torch\next = load_inline(x)\n*/\n#include <torch/extension.h>\n"
    )
    assert not is_inline("struct ModelNew {};\nclass ModelNew2 {};\n")
    assert not is_inline("import torch\n")


def test_bindings_are_read_and_taken_out() -> None:
    source, bound = without_bindings(
        'int f(int a);\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {\n  m.def("go", &f, "doc, {", py::arg("a") = g(1, 2));\n'
        '  m.def("two", [](int a) { return a, 2; });\n  m.def("three", torch::wrap_pybind_function(f));\n}\nint g;\n'
    )
    assert "PYBIND11" not in source
    assert source.endswith("int g;\n")
    assert bound["go"].code == "f"
    assert bound["go"].arguments == (("a", "g(1, 2)"),)
    assert bound["two"].code == "[](int a) { return a, 2; }"
    assert bound["three"].code == "f"


def test_prototypes_of_what_is_defined_go() -> None:
    cpp = Text(
        "#include <x>\ntorch::Tensor f(torch::Tensor a,\n    int b = 3);\nvoid g();\nint h() { f(a); return g(); }\n"
    )
    assert (
        cpp.without_prototypes(frozenset({"f"}))
        == "#include <x>\n\nvoid g();\nint h() { f(a); return g(); }\n"
    )
    assert cpp.functions["f"].parameters == ("a", "b")
    assert cpp.functions["h"].result == "int"


def test_what_is_written_is_read() -> None:
    source = '#include <torch/extension.h>\n// """\n__global__ void k() {}\ntorch::Tensor f(torch::Tensor x) { return x; }\n'
    source += 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &f); }\n'
    assert "f(model_argument0)" in in_one_file(
        model_file(source, "name", 'a "title"\\', ["x"], "def reference(x): ..."), ONE
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('name="e"', 'name=f"e_{hashlib.md5(SOURCE.encode()).hexdigest()[:8]}"'),
        ('functions=["go"]', 'build_directory=os.environ.get("TMP"), **dict_of'),
        ("pass", 'self.go = getattr(ext, "go")'),
        ("pass", 'self.register_buffer("scratch", torch.empty(0), persistent=False)'),
        ("return ext.go(x, 0, 0)", "return Ops.run(x)"),
    ],
)
def test_what_only_surrounds_the_kernel_may_be_anything(old: str, new: str) -> None:
    source = file("return ext.go(x, 0, 0)").replace("import math", "import hashlib\nimport math\nimport os")
    source = source.replace("ext = load", 'dict_of = {"functions": ["go"]}\next = load').replace(old, new)
    source = source.replace(
        "class ModelNew",
        """class Ops:
    run_with = 0
    @classmethod
    def run(cls, x):
        return ext.go(x, cls.run_with, 0)

class ModelNew""",
    )
    assert "go(model_argument0, 0, 0)" in wrapper(in_one_file(source, ONE))


_LIKE_A_FORMAT = "int k; int m = k % 4 * 2; float z = m ? 20000.0f * k : 1;"


@pytest.mark.parametrize(
    "written",
    [
        "%(type)s f() { " + _LIKE_A_FORMAT.replace("%", "%%") + ' }\n""" % {"type": "void"} + """',
        "{} f() {{ " + _LIKE_A_FORMAT + ' }}\n""".format("void") + """',
    ],
)
def test_text_that_only_looks_like_a_format_is_kept(written: str) -> None:
    source = file("return ext.go(x, 0, 0)").replace('SOURCE = """\n', f'SOURCE = """{written}')
    assert f"void f() {{ {_LIKE_A_FORMAT} }}" in in_one_file(source, ONE)


def test_half_operators_are_switched_on_where_they_are_used() -> None:
    assert "-U__CUDA_NO_HALF_OPERATORS__" in model_file("__global__ void k(half* x) {}", "n", "t", ["x"], "")
    assert "-U__CUDA" not in model_file("__global__ void k(float* x) {}", "n", "t", ["x"], "")


def test_a_signature_is_made_of_a_description() -> None:
    described = (
        {"name": "x", "kind": "tensor", "dtype": "float32", "shape": [2, 3]},
        {"name": "n", "kind": "int", "value": 3},
    )
    assert signature_of(described, "text") == Signature(
        (Argument("x", "tensor", 2), Argument("n", "int")), "text"
    )


_PIECES = [
    *("x", "x.shape", "x.size()", "(*x.shape, 3)", "x[0]", "x[:, 1]", "-x", "x.T", "range(3)", "1 / 0", "10**100000"),
    *("'a' * 10**9", "f'{1:>99999}'", "{1: x}", "x if x.size(0) > 3 else x", "x.size(0) // 3", "None", "self", "torch"),
    *("nn.Linear(3, 4)", "nn.Linear", "x.view(-1)", "x.dtype", "self.state_dict()", "[i for i in x.shape]", "ext", "ext.go"),
    *("lambda y: y", "max(x.size(0), 3)", "x < 3", "True", "2**63", "'\\x00é'", "open('x')", "x.stride()", "len(x.shape)"),
]  # fmt: skip


@settings(max_examples=300)
@given(
    st.lists(st.tuples(st.integers(0, 60), st.sampled_from(_PIECES)), min_size=1, max_size=3),
    st.sampled_from(["self.a = {0}", "self.linear = nn.Linear(3, 4)", "self.w = nn.Parameter({0})"]),
)
def test_any_mixture_is_read_or_refused(changes: list[tuple[int, str]], start: str) -> None:
    tree = ast.parse(
        file(
            "y = ext.go(x.contiguous(), 1.5, x.size(0))\nreturn ext.go(y, 2, 3)",
            start=start.format(changes[0][1]),
        )
    )
    last = tree.body[-1]
    for place, piece in changes:
        nodes = [node for node in ast.walk(last) if isinstance(node, (ast.Call, ast.Assign, ast.Return))]
        node, new = nodes[place % len(nodes)], ast.parse(piece, mode="eval").body
        if isinstance(node, ast.Call) and node.args:
            node.args[place % len(node.args)] = new
        elif isinstance(node, (ast.Assign, ast.Return)):
            node.value = new
    said = ""
    try:
        said = in_one_file(ast.unparse(ast.fix_missing_locations(tree)), ONE)
    except Unreadable as error:
        said = str(error)
    assert said


def test_files_are_read_in_several_threads_at_once() -> None:
    source = file("return ext.go(x, 0, 0)")
    with ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(lambda _: in_one_file(source, ONE), range(80)))
    assert len(set(texts)) == 1
