"""How long judging takes, in ratios to a bare `nvcc -shared` of the same kernel.

    python -m benchmarks.judging            # prints the table; exit code 1 if a target is missed
    python -m benchmarks.judging --json

A small elementwise kernel (ReLU of a million elements) is judged cold: a text that nobody has seen, in a new judge
with no process running, and again in a judge that has judged before, as in an evolution. So is a register-tiled product
(`benchmarks/kernels.cu` has the same) on kernels91's square matrices, whose whole bench case runs on two
distributions. Bare compilations and judgings alternate, the best of several counts. The baseline's verdict is known
beforehand, as it is from the second kernel of a problem on.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from evoengineer.judge import JudgeOptions, Verdict, open_judge
from evoengineer.problem.catalog import find_problem
from evoengineer.toolchain.compilers import find_toolchain

ROUNDS = 5
MOST_OF_BARE = {"judged cold": 1.6, "judged warm": 1.3}  # in wall time of a bare compilation
MOST_OF_BARE_PRODUCT = 2.5  # warm
MOST_KNOWN_SECONDS = 0.05  # a text that was judged before

PROBLEM = '''"""ReLU."""
import torch
from evoengineer.problem import Case
cases = [Case.check(n=1), Case.check(n=257), Case.check(n=4099), Case.bench(n=1 << 20)]
def make_inputs(case, generator):
    return {"x": generator.values(case.n)}
def reference(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x)
'''
KERNEL = """__global__ void relu(const float* x, float* y, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) y[i] = fmaxf(x[i], 0.0f);
}
"""
EXTENSION = (
    "#include <torch/extension.h>\n#define BLOCK 256\n"
    + KERNEL
    + "torch::Tensor forward(torch::Tensor x) {\n"
    "    auto y = torch::empty_like(x);\n"
    "    relu<<<(x.numel() + BLOCK - 1) / BLOCK, BLOCK>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());\n"
    "    return y;\n}\n"
    'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "ReLU"); }\n'
)
BARE = (
    "#include <cuda_runtime.h>\n#define BLOCK 256\n" + KERNEL +
    'extern "C" void forward(const float* x, float* y, int n) { relu<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(x, y, n); }\n'
)  # fmt: skip


BARE_PRODUCT = (
    'extern "C" void forward(const float* a, const float* b, float* c, int n) {'
    " sgemm<<<dim3(n / 128, n / 128), 256>>>(a, b, c, n); }\n"
)


def measure(scratch: Path) -> dict[str, float]:
    """Seconds by what was measured."""
    (scratch / "problem.py").write_text(PROBLEM, encoding="utf-8")
    (scratch / "baseline.cu").write_text(EXTENSION, encoding="utf-8")
    (scratch / "bare.cu").write_text(BARE, encoding="utf-8")
    description = find_problem(str(scratch))
    seed = time.time_ns()  # nothing is known from an earlier run
    options = JudgeOptions(workers=1, run_seed=seed)
    fresh = itertools.count(seed % 10**8)  # no text of an earlier run, whose builds are kept

    def unseen() -> str:
        """Another text and other machine code each time: the number of threads differs."""
        number = next(fresh)
        return EXTENSION.replace("BLOCK 256", f"BLOCK {64 + 32 * (number % 29)}").replace(
            "fmaxf(x[i], 0.0f)", f"fmaxf(x[i], {number}e-40f * 0.0f)"
        )

    def judge_cold() -> Verdict:
        with open_judge(description, options) as judge:
            return judge.judge(unseen()).result()

    best: dict[str, float] = {}
    judge_cold()  # the baseline, our own C++ parts
    with open_judge(description, options) as warm:
        warm.judge(unseen()).result()
        for _ in range(ROUNDS):
            note(best, "bare nvcc", lambda: compile_bare(scratch, "bare.cu"))
            note(best, "judged cold", judge_cold)
            note(best, "judged warm", lambda: warm.judge(unseen()).result())
            note(best, "judged before", lambda: warm.judge(EXTENSION).result())
    return best


def measure_product(scratch: Path) -> dict[str, float]:
    """The same for a register-tiled product, in a warm judge only."""
    kernel = (Path(__file__).parent / "register_tiles.cu").read_text(encoding="utf-8")
    device, host = kernel.split("// --- host ---")
    (scratch / "product.cu").write_text(device.replace("torch/extension.h", "cuda_runtime.h") + BARE_PRODUCT)
    seed = time.time_ns()
    fresh = itertools.count(seed % 10**8)
    best: dict[str, float] = {}
    options = JudgeOptions(workers=1, run_seed=seed)
    with open_judge(find_problem("kernels91/matmul/square"), options) as warm:

        def judged() -> Verdict:
            return warm.judge(device.replace("0.0f /* seed */", f"{next(fresh)}e-40f") + host).result()

        judged()
        for _ in range(ROUNDS):
            note(best, "product, bare nvcc", lambda: compile_bare(scratch, "product.cu"))
            note(best, "product, judged warm", judged)
    return best


def compile_bare(folder: Path, source: str) -> None:
    nvcc = find_toolchain()
    command = [str(nvcc.nvcc), *nvcc.flags, "-shared", "-O2", "-lineinfo", "-Xcompiler", "-fPIC", "-gencode",
               "arch=compute_89,code=compute_89", source, "-o", "bare.so"]  # fmt: skip
    subprocess.run(command, cwd=folder, check=True)


def note(best: dict[str, float], name: str, work: Callable[[], object]) -> None:
    begin = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - begin
    best[name] = min(best.get(name, seconds), seconds)
    assert not isinstance(result, Verdict) or result.valid, result.summary


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        seconds = {**measure(Path(scratch)), **measure_product(Path(scratch))}
    ratios = {
        name: value / seconds["product, bare nvcc" if name.startswith("product") else "bare nvcc"]
        for name, value in seconds.items()
    }
    targets = {**MOST_OF_BARE, "product, judged warm": MOST_OF_BARE_PRODUCT}
    missed = [name for name, most in targets.items() if ratios[name] > most]
    if seconds["judged before"] > MOST_KNOWN_SECONDS:
        missed.append("judged before")
    if given.json:
        print(json.dumps({"seconds": seconds, "ratios": ratios, "missed": missed}))
    else:
        for name, value in seconds.items():
            target = f"  (at most {targets[name]:g}x)" if name in targets else ""
            print(f"{name:22} {value:8.3f} s  {ratios[name]:6.2f}x{target}")
        print(f"missed: {', '.join(missed) or 'none'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
