"""Twenty kernels of the kinds that people publish, none of them from a suite, each with its reference.

`python -m benchmarks.rewriter --corpus --archive FILE` evolves all of them; tests take a few.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from evoengineer.judge import JudgeOptions, Verdict, judge
from evoengineer.problem.inline import define_problem
from evoengineer.problem.model import Case, Problem

TAIL = """
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
"""


@dataclass(frozen=True)
class Specimen:
    """A kernel with the shapes of its float32 inputs, as functions of a case's n."""

    name: str
    kernel: str
    host: str
    reference: str  # arguments and result: "a, b: a @ b"
    inputs: Callable[[Case, Any], Mapping[str, Any]] | str  # a function, or the text of one
    sizes: tuple[int, ...] = (1, 5, 33, 64)
    bench: int = 512

    @property
    def source(self) -> str:
        return f"#include <torch/extension.h>\n{self.kernel}\n{self.host}{TAIL}"

    @property
    def problem(self) -> Problem:
        arguments, _, result = self.reference.partition(": ")
        return define_problem(
            self.name,
            reference=f"import torch\n\n\ndef reference({arguments}):\n    return {result}\n",
            make_inputs=self.inputs,
            cases=[*(Case.check(n=n) for n in self.sizes), Case.bench(n=self.bench)],
            baseline=self.source,
        )

    def judged(self, source: str) -> Verdict:
        """The verdict on another kernel for this problem, with the same inputs on every machine."""
        return judge(source, self.problem, options=JudgeOptions(run_seed=1))


def two(case: Case, generator: Any) -> dict[str, Any]:
    return {"a": generator.values(case.n, case.n), "b": generator.values(case.n, case.n)}


def one(case: Case, generator: Any) -> dict[str, Any]:
    return {"a": generator.values(case.n, case.n)}


def with_bias(case: Case, generator: Any) -> dict[str, Any]:
    return {**two(case, generator), "bias": generator.values(case.n)}


def points(case: Case, generator: Any) -> dict[str, Any]:
    return {"a": generator.values(case.n, 24), "b": generator.values(case.n, 24)}


def images(case: Case, generator: Any) -> dict[str, Any]:
    return {"a": generator.values(2, case.n, case.n), "w": generator.values(5, 5)}


def channels(case: Case, generator: Any) -> dict[str, Any]:
    return {"a": generator.values(2, 12, case.n, case.n), "w": generator.values(8, 12)}


SQUARE = """
torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous(); b = b.contiguous();
    int n = a.size(0);
    auto c = torch::empty({n, n}, a.options());
    dim3 block(16, 16), grid((n + 15) / 16, (n + 15) / 16);
    run<<<grid, block>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), n);
    return c;
}
"""
POINTS = SQUARE.replace("data_ptr<float>(), n);", "data_ptr<float>(), n, static_cast<int>(a.size(1)));")
ALONE = (
    SQUARE.replace(", torch::Tensor b)", ")")
    .replace(" b = b.contiguous();", "")
    .replace("b.data_ptr<float>(), ", "")
)
BIAS = SQUARE.replace("torch::Tensor b)", "torch::Tensor b, torch::Tensor bias)").replace(
    "c.data_ptr<float>(), n)", "bias.data_ptr<float>(), c.data_ptr<float>(), n)"
)
FLAT = """
torch::Tensor forward(torch::Tensor a, torch::Tensor w) {
    a = a.contiguous(); w = w.contiguous();
    auto c = torch::empty(SHAPE, a.options());
    int total = c.numel();
    run<<<(total + 255) / 256, 256>>>(a.data_ptr<float>(), w.data_ptr<float>(), c.data_ptr<float>(), ARGS, total);
    return c;
}
"""


def head(parameters: str) -> str:
    return f"""__global__ void run({parameters}) {{
    const int x = threadIdx.x + blockIdx.x * blockDim.x, y = blockIdx.y * blockDim.y + threadIdx.y;
"""


PAIR = "const float *a, const float *b, float *c, int n"


def specimen(name: str, body: str, reference: str, **more: Any) -> Specimen:
    """A kernel over a square of outputs."""
    parameters = more.pop("parameters", PAIR)
    return Specimen(
        name,
        head(parameters) + body + "}",
        more.pop("host", SQUARE),
        reference,
        more.pop("inputs", two),
        **more,
    )


CORPUS = (
    specimen(
        "gemm_reordered",
        "if (x < n && y < n) { float acc = 0; for (int p = 0; p < n; p++) acc += b[p * n + x] * a[y * n + p];"
        " c[y * n + x] = acc; }",
        "a, b: a @ b",
    ),
    specimen(
        "gemm_fma",
        "if (y >= n) return; if (n <= x) return; float acc = 0.f;"
        " for (int p = 0; p < n; ++p) acc = fmaf(a[y * n + p], b[p * n + x], acc); c[y * n + x] = acc;",
        "a, b: a @ b",
    ),
    specimen(
        "gemm_scaled_residual",
        "if (x >= n || y >= n) return; float acc = 0.f; for (int p = 0; p < n; ++p) acc += a[y * n + p] * b[p * n + x];"
        " c[y * n + x] = 0.5f * acc + a[y * n + x];",
        "a, b: 0.5 * (a @ b) + a",
    ),
    specimen(
        "gemm_bias_relu",
        "if (x >= n || y >= n) return; float acc = bias[x]; for (int p = 0; p < n; ++p)"
        " { float left = a[y * n + p]; float right = b[p * n + x]; acc += left * right; }"
        " c[y * n + x] = fmaxf(acc, 0.f);",
        "a, b, bias: (a @ b + bias).relu()",
        parameters="const float *a, const float *b, const float *bias, float *c, int n",
        host=BIAS,
        inputs=with_bias,
    ),
    specimen(
        "gram",
        "if (x >= n || y >= n) return; float acc = 0.f; for (int p = 0; p < n; ++p) acc += a[p * n + y] * a[p * n + x];"
        " c[y * n + x] = acc;",
        "a: a.t() @ a",
        parameters="const float *a, float *c, int n",
        host=ALONE,
        inputs=one,
    ),
    specimen(
        "squared_distances",
        "if (x >= n || y >= n) return; float acc = 0.f;"
        " for (int p = 0; p < k; ++p) { float d = a[y * k + p] - b[x * k + p]; acc += d * d; } c[y * n + x] = acc;",
        "a, b: (a[:, None, :] - b[None, :, :]).square().sum(-1)",
        parameters=PAIR + ", int k",
        host=POINTS,
        inputs=points,
    ),
    specimen(
        "city_block_distances",
        "if (x >= n || y >= n) return; float acc = 0.f;"
        " for (int p = 0; p < k; ++p) acc += fabsf(a[y * k + p] - b[x * k + p]); c[y * n + x] = acc;",
        "a, b: (a[:, None, :] - b[None, :, :]).abs().sum(-1)",
        parameters=PAIR + ", int k",
        host=POINTS,
        inputs=points,
    ),
    specimen(
        "largest_distance",
        "if (x >= n || y >= n) return; float acc = 0.f;"
        " for (int p = 0; p < k; ++p) acc = fmaxf(acc, fabsf(a[y * k + p] - b[x * k + p])); c[y * n + x] = acc;",
        "a, b: (a[:, None, :] - b[None, :, :]).abs().amax(-1)",
        parameters=PAIR + ", int k",
        host=POINTS,
        inputs=points,
    ),
    specimen(
        "causal_scores",
        "if (x >= n || y >= n) return; float acc = -1e30f; if (x <= y) { acc = 0.f;"
        " for (int p = 0; p < k; ++p) acc += a[y * k + p] * b[x * k + p]; } c[y * n + x] = acc;",
        "a, b: (a @ b.t()).tril() + a.new_full((a.shape[0], a.shape[0]), -1e30).triu(1)",
        parameters=PAIR + ", int k",
        host=POINTS,
        inputs=points,
    ),
    specimen(
        "band_product",
        "if (x >= n || y >= n) return; float acc = 0.f; for (int p = max(0, y - 8); p < min(n, y + 9); ++p)"
        " acc += a[y * n + p] * b[p * n + x]; c[y * n + x] = acc;",
        "a, b: a.triu(-8).tril(8) @ b",
    ),
    specimen(
        "skip_zeros",
        "if (x >= n || y >= n) return; float acc = 0.f; for (int p = 0; p < n; ++p)"
        " { float left = a[y * n + p]; if (left <= 0.f) continue; acc += left * b[p * n + x]; } c[y * n + x] = acc;",
        "a, b: a.clamp(min=0) @ b",
    ),
    specimen(
        "outer_sum",
        "if (x < n && y < n) c[y * n + x] = a[y * n] + b[x];",
        "a, b: a[:, :1] + b[:1, :]",
    ),
    specimen(
        "transpose_add",
        "if (x < n && y < n) c[y * n + x] = a[x * n + y] + b[y * n + x];",
        "a, b: a.t() + b",
    ),
    Specimen(
        "blur",
        """__global__ void run(const float *a, const float *w, float *c, int size, int total) {
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= total) return;
    int col = id % size, row = id / size % size, img = id / (size * size);
    float acc = 0.f;
    for (int dy = 0; dy < 5; ++dy) for (int dx = 0; dx < 5; ++dx) {
        int yy = row + dy - 2, xx = col + dx - 2;
        if (yy < 0 || yy >= size || xx < 0 || xx >= size) continue;
        acc += a[(img * size + yy) * size + xx] * w[dy * 5 + dx];
    }
    c[id] = acc;
}""",
        FLAT.replace("SHAPE", "{a.size(0), a.size(1), a.size(2)}").replace(
            "ARGS", "static_cast<int>(a.size(1))"
        ),
        "a, w: torch.nn.functional.conv2d(a[:, None], w[None, None], padding=2)[:, 0]",
        images,
        (1, 5, 33),
        128,
    ),
    Specimen(
        "channel_mix",
        """__global__ void run(const float *a, const float *w, float *c, int in, int out, int area, int total) {
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= total) return;
    int place = id % area;
    int rest = id / area;
    int o = rest % out;
    int img = rest / out;
    float acc = 0.f;
    for (int i = 0; i < in; ++i) acc += a[(img * in + i) * area + place] * w[o * in + i];
    c[id] = acc;
}""",
        FLAT.replace("SHAPE", "{a.size(0), w.size(0), a.size(2), a.size(3)}").replace(
            "ARGS",
            "static_cast<int>(a.size(1)), static_cast<int>(w.size(0)), static_cast<int>(a.size(2) * a.size(3))",
        ),
        'a, w: torch.einsum("bihw,oi->bohw", a, w)',
        channels,
        (1, 5, 17),
        96,
    ),
    specimen(
        "row_sums",
        "if (x == 0 && y < n) { float acc = 0.f; for (int p = 0; p < n; ++p) acc += a[y * n + p]; c[y * n] = acc; }"
        " else if (x < n && y < n) c[y * n + x] = b[y * n + x];",
        "a, b: torch.cat([a.sum(1, keepdim=True), b[:, 1:]], 1)",
    ),
    specimen("copy", "if (x < n && y < n) c[y * n + x] = a[y * n + x];", "a, b: a.clone()"),
    specimen(
        "gate",
        "if (x < n && y < n) c[y * n + x] = a[y * n + x] / (1.f + expf(-b[y * n + x]));",
        "a, b: a * b.sigmoid()",
    ),
    specimen(
        "scaled_rows",
        "if (x >= n || y >= n) return; float length = 0.f; for (int p = 0; p < n; ++p)"
        " length += a[y * n + p] * a[y * n + p]; c[y * n + x] = b[y * n + x] * rsqrtf(length + 1e-6f);",
        "a, b: b * (a.square().sum(1, keepdim=True) + 1e-06).rsqrt()",
    ),
    specimen(
        "product_of_three",
        "if (x >= n || y >= n) return; float acc = 0.f; for (int p = 0; p < n; ++p)"
        " acc += a[y * n + p] * b[p * n + x] * b[y * n + p]; c[y * n + x] = acc;",
        "a, b: a * b @ b",
    ),
)
