"""How long a build with the lean headers takes, in ratios to a bare `nvcc -shared` of the same kernels.

    python -m benchmarks.build_speed            # prints the table; exit code 1 if a target is missed
    python -m benchmarks.build_speed --json
    python -m benchmarks.build_speed --torch    # also the real torch headers: minutes

Each kernel exists twice: as a PyTorch extension, and bare, with the same `__global__` functions launched from a
function on pointers. Builds alternate, the best of several counts, the cache of builds is empty each time. CPU
time (of all compilers) is given beside wall time: it hardly depends on what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from evoengineer.files import CACHE_VARIABLE, cache_dir
from evoengineer.kernel.build import Build, build_kernel
from evoengineer.kernel.torch_headers import torch_command
from evoengineer.toolchain.compilers import Toolchain, find_toolchain

SM = 89
MOST_OF_BARE = 1.3  # wall time of a lean build of the elementwise kernel, in bare builds
LEAST_FASTER_THAN_TORCH = 50.0
MOST_CACHED_SECONDS = 0.005

ELEMENTWISE = """
__global__ void add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
"""
SOFTMAX = """
template <typename T>
__global__ void softmax(const T* x, T* y, int columns) {
    extern __shared__ char raw[];
    T* shared = reinterpret_cast<T*>(raw);
    const T* row = x + blockIdx.x * columns;
    T top = row[0];
    for (int i = threadIdx.x; i < columns; i += blockDim.x) top = max(top, row[i]);
    shared[threadIdx.x] = top;
    __syncthreads();
    for (int step = blockDim.x / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) shared[threadIdx.x] = max(shared[threadIdx.x], shared[threadIdx.x + step]);
        __syncthreads();
    }
    top = shared[0];
    __syncthreads();
    T sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += exp(row[i] - top);
    shared[threadIdx.x] = sum;
    __syncthreads();
    for (int step = blockDim.x / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) shared[threadIdx.x] += shared[threadIdx.x + step];
        __syncthreads();
    }
    for (int i = threadIdx.x; i < columns; i += blockDim.x) y[blockIdx.x * columns + i] = exp(row[i] - top) / shared[0];
}
"""
MODULE = 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }\n'


@dataclass(frozen=True)
class Subject:
    name: str
    extension: str
    bare: str


SUBJECTS = (
    Subject(
        "elementwise",
        f"""#include <torch/extension.h>
{ELEMENTWISE}
torch::Tensor forward(torch::Tensor a, torch::Tensor b) {{
    TORCH_CHECK(a.is_cuda(), "a must be a CUDA tensor");
    auto c = torch::empty_like(a);
    const int n = a.numel();
    add<<<(n + 255) / 256, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), n);
    return c;
}}
{MODULE}""",
        f"""#include <cuda_runtime.h>
{ELEMENTWISE}
extern "C" void forward(const float* a, const float* b, float* c, int n) {{
    add<<<(n + 255) / 256, 256>>>(a, b, c, n);
}}
""",
    ),
    Subject(
        "softmax, dispatched",
        f"""#include <torch/extension.h>
#include <vector>
{SOFTMAX}
std::vector<torch::Tensor> forward(torch::Tensor x) {{
    auto y = torch::empty_like(x);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "softmax", ([&] {{
        softmax<scalar_t><<<x.size(0), 256, 256 * sizeof(scalar_t)>>>(
            x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.size(1));
    }}));
    return {{y}};
}}
{MODULE}""",
        f"""#include <cuda_runtime.h>
#include <vector>
{SOFTMAX}
extern "C" void forward(bool wide, const void* x, void* y, int rows, int n) {{
    if (wide) softmax<double><<<rows, 256, 2048>>>((const double*)x, (double*)y, n);
    else softmax<float><<<rows, 256, 1024>>>((const float*)x, (float*)y, n);
}}
""",
    ),
)


@dataclass(frozen=True)
class Cost:
    wall_seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class Row:
    subject: str
    bare: Cost
    lean: Cost
    torch: Cost | None
    cached_seconds: float

    @property
    def ratio(self) -> float:
        return self.lean.wall_seconds / self.bare.wall_seconds

    @property
    def cpu_ratio(self) -> float:
        return self.lean.cpu_seconds / self.bare.cpu_seconds

    @property
    def faster_than_torch(self) -> float | None:
        return self.torch.cpu_seconds / self.lean.cpu_seconds if self.torch else None


def measure(subject: Subject, repetitions: int, with_torch: bool) -> Row:
    toolchain = find_toolchain()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "bare.cu").write_text(subject.bare)
        (folder / "extension.cu").write_text(subject.extension)
        bare = [
            str(toolchain.nvcc),
            *toolchain.flags,
            "-shared",
            "-Xcompiler",
            "-fPIC",
            "bare.cu",
            "-o",
            "bare.so",
        ]
        pairs = []
        for number in range(repetitions):
            # A text of its own each time, so that nothing comes from the cache.
            text = f"{subject.extension}// {number}\n"
            pairs.append((cost(lambda: nvcc(bare, folder)), cost(lambda text=text: build(text, toolchain))))
        cached = min(cost(lambda text=text: build(text, toolchain)).wall_seconds for _ in range(5))
        torch = (
            cost(lambda: nvcc(torch_command(toolchain, SM, "extension.cu", "extension.o"), folder))
            if with_torch
            else None
        )
    return Row(
        subject.name,
        min((pair[0] for pair in pairs), key=lambda each: each.wall_seconds),
        min((pair[1] for pair in pairs), key=lambda each: each.wall_seconds),
        torch,
        cached,
    )


def cost(action: Callable[[], object]) -> Cost:
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    action()
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def build(source: str, toolchain: Toolchain) -> None:
    result = build_kernel(source, sm=SM, toolchain=toolchain)
    if not isinstance(result, Build):
        raise SystemExit(f"the benchmark's own kernel does not build:\n{result.text}")


def nvcc(command: list[str], folder: Path) -> None:
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise SystemExit(f"{' '.join(command)} fails:\n{(run.stdout + run.stderr)[-2000:]}")


def table(rows: list[Row]) -> str:
    lines = [
        "| kernel | bare nvcc | lean build | ratio | CPU ratio | from the cache | real torch headers | faster |"
    ]
    lines.append("|---|---|---|---|---|---|---|---|")
    for row in rows:
        torch = f"{row.torch.wall_seconds:.0f} s" if row.torch else "–"
        faster = f"{row.faster_than_torch:.0f}×" if row.faster_than_torch else "–"
        lines.append(
            f"| {row.subject} | {row.bare.wall_seconds:.2f} s | {row.lean.wall_seconds:.2f} s | {row.ratio:.2f} "
            f"| {row.cpu_ratio:.2f} | {row.cached_seconds * 1e3:.1f} ms | {torch} | {faster} |"
        )
    return "\n".join(lines)


def missed(rows: list[Row]) -> list[str]:
    found = []
    if rows[0].ratio > MOST_OF_BARE:
        found.append(f"{rows[0].subject}: {rows[0].ratio:.2f} bare builds, at most {MOST_OF_BARE} wanted")
    for row in rows:
        if row.cached_seconds > MOST_CACHED_SECONDS:
            found.append(f"{row.subject}: {row.cached_seconds * 1e3:.1f} ms from the cache")
        if row.faster_than_torch and row.faster_than_torch < LEAST_FASTER_THAN_TORCH:
            found.append(f"{row.subject}: {row.faster_than_torch:.0f}× faster than with torch's headers")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--torch", action="store_true", help="also with the real torch headers (minutes)")
    parser.add_argument("--repetitions", type=int, default=5)
    options = parser.parse_args()
    native = cache_dir("native")  # what is made once per machine is not part of a build
    with tempfile.TemporaryDirectory() as empty:
        (Path(empty) / "native").symlink_to(native)
        os.environ[CACHE_VARIABLE] = empty
        build(SUBJECTS[0].extension, find_toolchain())  # the support library, if this is the first build ever
        rows = [
            measure(each, options.repetitions, options.torch and each is SUBJECTS[0]) for each in SUBJECTS
        ]
    print(json.dumps([asdict(row) for row in rows], indent=2) if options.json else table(rows))
    failures = missed(rows)
    print("\n".join(failures), file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
