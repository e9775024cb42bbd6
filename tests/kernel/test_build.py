"""Builds: outcomes, diagnostics, identity, resources, and the cache."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from evoengineer.files import Folders, cache_dir
from evoengineer.kernel import build as build_module
from evoengineer.kernel import support
from evoengineer.kernel.build import Build, BuildFailure, build_kernel
from evoengineer.kernel.command import BuildLimits, Command, Finished, run_plain
from evoengineer.kernel.identity import embedded_ptx
from evoengineer.kernel.support import header_folders, support_archive
from evoengineer.sim.ptx.fatbin import MAGIC, ptx_of
from evoengineer.sim.timing import ptxas
from evoengineer.toolchain.compilers import find_toolchain
from evoengineer.toolchain.elf import read_sections

ADD = """#include <torch/extension.h>
__global__ void add(const float* a, const float* b, float* c, int n) {
    __shared__ float tile[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = a[i];
    __syncthreads();
    if (i < n) c[i] = tile[127 - threadIdx.x] + b[i];
}
torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    TORCH_CHECK(a.is_cuda(), "a must be on the GPU");
    auto c = torch::empty_like(a);
    const int n = a.numel();
    add<<<(n + 127) / 128, 128>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), n);
    return c;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
"""
SMALL = "__global__ void set(int* x) { *x = %d; }\nvoid run(int* x) { set<<<1, 1>>>(x); }\n"


def built(source: str, **options: object) -> Build:
    result = build_kernel(source, sm=89, **options)  # type: ignore[arg-type]
    assert isinstance(result, Build), result.text
    return result


def failed(source: str, **options: object) -> BuildFailure:
    result = build_kernel(source, sm=89, **options)  # type: ignore[arg-type]
    assert isinstance(result, BuildFailure)
    return result


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for builds; what is compiled once per machine stays where it is."""
    native = cache_dir("native")
    (tmp_path / "native").symlink_to(native)
    monkeypatch.setenv("EVOENGINEER_CACHE_DIR", str(tmp_path))
    return tmp_path


# -- what a build is ----------------------------------------------------------------------------------


def test_a_build_knows_its_resources() -> None:
    build = built(ADD)
    (add,) = build.resources
    assert (add.name, add.symbol) == ("add", "_Z3addPKfS0_Pfi")
    assert (add.static_shared_bytes, add.spill_store_bytes, add.spill_load_bytes) == (512, 0, 0)
    assert 4 <= add.registers <= 40
    assert build.exports
    assert build.seconds > 0
    ptx = build.ptx.read_text()
    assert ".target sm_89" in ptx
    assert '"kernel.cu"' in ptx
    assert str(Path.home()) not in ptx


def test_differences_that_do_not_run_do_not_count() -> None:
    reference = built(ADD)
    commented = "// a comment\n\n" + ADD.replace(
        "__syncthreads();", "/* wait */\n\n    __syncthreads(); // all"
    )
    renamed = ADD.replace("int i =", "int index =").replace("[i]", "[index]").replace("(i <", "(index <")
    renamed = renamed.replace("auto c ", "auto result ").replace("return c;", "return result;")
    renamed = renamed.replace("c.data_ptr", "result.data_ptr")
    reformatted = ADD.replace(" = ", "=").replace(";\n    ", ";")
    for text in (commented, renamed, reformatted):
        assert text != ADD
        assert built(text).id == reference.id


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(n + 127) / 128, 128>>>", "(n + 255) / 256, 256>>>"),
        ("tile[127 - ", "tile[126 - "),
        ("torch::empty_like(a)", "torch::zeros_like(a)"),
        ('"a must be on the GPU"', '"a must be on a GPU!"'),
    ],
)
def test_differences_that_run_do_count(old: str, new: str) -> None:
    changed = ADD.replace(old, new)
    assert changed != ADD
    assert built(changed).id != built(ADD).id


def test_the_same_text_gives_the_same_bytes(empty_cache: Path) -> None:
    first = built(SMALL % 7)
    first_bytes = first.library.read_bytes(), first.ptx.read_bytes()
    for entry in (empty_cache / "builds").iterdir():
        os.rename(entry, empty_cache / entry.name)
    second = built(SMALL % 7)
    assert (second.library.read_bytes(), second.ptx.read_bytes()) == first_bytes
    assert second.id == first.id


def test_machine_code_for_a_real_gpu() -> None:
    build = built(ADD, target="cuda")
    assert [each.name for each in build.resources] == ["add"]
    assert b"sm_89" in build.library.read_bytes()
    assert build.id != built(ADD).id  # other code is loaded, and all that is loaded counts


# -- what is none --------------------------------------------------------------------------------------


def test_errors_are_data_with_their_lines() -> None:
    source = ADD.replace("tile[127 - threadIdx.x]", "tyle[127 - threadIdx.x]").replace(
        "return c;", "return d;"
    )
    failure = failed(source)
    assert failure.outcome == "compile_error"
    assert [(each.line, each.message, each.source_line) for each in failure.diagnostics] == [
        (7, 'identifier "tyle" is undefined', "if (i < n) c[i] = tyle[127 - threadIdx.x] + b[i];"),
        (14, 'identifier "d" is undefined', "return d;"),
    ]
    assert failure.text.startswith('kernel.cu:7: error: identifier "tyle" is undefined\n    if (i < n)')
    assert str(Path.home()) not in failure.text + failure.log


def test_a_wrong_element_type_names_the_line_of_the_text() -> None:
    failure = failed(ADD.replace("c.data_ptr<float>()", "(float*)c.data_ptr<long long>()"))
    assert failure.outcome == "compile_error"
    assert failure.diagnostics[0].line == 13
    assert "for long long use int64_t" in failure.diagnostics[0].message


def test_library_operations_are_forbidden_by_name() -> None:
    body = (
        "auto c = torch::matmul(a, b); auto s = a.sum(); s = a + b; a.mul_(b); "
        "torch::nn::functional::relu(a); at::cuda::getCurrentCUDABlasHandle();"
    )
    failure = failed(ADD.replace("auto c = torch::empty_like(a);", body.replace("; ", ";\n")))
    assert failure.outcome == "forbidden"
    names = [each.message.partition(": library operations")[0] for each in failure.diagnostics]
    assert names == [
        *("torch::matmul", "at::Tensor::sum", "operator + on tensors", "at::Tensor::mul_"),
        *("torch::nn", "at::cuda::getCurrentCUDABlasHandle"),
    ]
    assert [each.line for each in failure.diagnostics] == [11, 12, 13, 14, 15, 16]
    assert failure.text.endswith("(1 more errors)")


@pytest.mark.parametrize(
    ("line", "outcome", "message"),
    [
        ("#include <cublas_v2.h>", "forbidden", "cublas_v2.h is not available: library operations"),
        ('#include "cutlass/gemm/device/gemm.h"', "forbidden", "cutlass/gemm/device/gemm.h is not available"),
        ("static const EvoHost* stolen;", "forbidden", "EvoHost is reserved for the harness"),
        ('#include "/etc/passwd"', "compile_error", "/etc/passwd: a kernel is one file"),
        ("#include <x/../../../etc/passwd>", "compile_error", "a kernel is one file"),
    ],
)
def test_refused_before_compiling(line: str, outcome: str, message: str) -> None:
    def no_runner(command: Command) -> Finished:
        raise AssertionError("the compiler was started")

    failure = failed(f"// one\n{line}\n{ADD}", runner=no_runner)
    assert (failure.outcome, failure.diagnostics[0].line) == (outcome, 2)
    assert message in failure.diagnostics[0].message


def test_a_comment_may_name_a_library() -> None:
    build = built(ADD.replace("__syncthreads();", "__syncthreads();  // faster than cublas, see evo::x"))
    assert build.id == built(ADD).id


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("#include <no/such.h>\n", "no/such.h: No such file or directory"),
        ("int missing();\nint use() { return missing(); }\n", "undefined reference to `missing()'"),
        ("__global__ void k(int* x) { __shared__ int y[20000]; y[*x] = 1; *x = y[*x + 1]; }\n", "too much shared data"),
        ("#error stop here\n", "stop here"),
    ],
)  # fmt: skip
def test_every_step_can_refuse(source: str, message: str) -> None:
    failure = failed(source)
    assert failure.outcome == "compile_error"
    assert message in failure.diagnostics[0].message


def test_templates_without_an_end_are_stopped() -> None:
    source = """template <int N, int M>
struct Tree { static const long v = Tree<N - 1, 2 * M>::v + Tree<N - 1, 2 * M + 1>::v; };
template <int M> struct Tree<0, M> { static const long v = M; };
long value() { return Tree<26, 1>::v; }
"""
    start = time.monotonic()
    failure = failed(source, limits=BuildLimits(wall_seconds=4))
    assert failure.outcome in ("timed_out", "compile_error")
    assert time.monotonic() - start < 30
    failure = failed(source, limits=BuildLimits(cpu_seconds=1))
    assert failure.outcome == "timed_out"
    assert failure.text == "error: the compiler was stopped after 1 s of CPU time"


def test_an_endless_include_is_stopped() -> None:
    source = '#define ZEROS "/dev/zero"\n#include ZEROS\n'
    failure = failed(source, limits=BuildLimits(wall_seconds=20, memory_bytes=1 << 30))
    assert failure.outcome in ("timed_out", "compile_error")


# -- the cache -----------------------------------------------------------------------------------------


def test_a_second_build_comes_from_the_cache() -> None:
    first = built(ADD)
    bad = ADD.replace("return c;", "return d;")
    first_failure = failed(bad)

    def no_runner(command: Command) -> Finished:
        raise AssertionError("the compiler was started")

    assert built(ADD, runner=no_runner) == first
    assert failed(bad, runner=no_runner) == first_failure


def test_a_damaged_entry_is_built_again(empty_cache: Path) -> None:
    build = built(SMALL % 1)
    entry = build.library.parent
    content = build.library.read_bytes()
    for damage in (
        lambda: build.library.write_bytes(content[:100]),
        build.library.unlink,
        lambda: (entry / "manifest").write_text("{"),
        lambda: (entry / "build.json").write_text("{}"),
    ):
        damage()
        again = built(SMALL % 1)
        assert again.library.read_bytes() == content


def test_a_flipped_byte_in_the_library_is_noticed(empty_cache: Path) -> None:
    build = built(SMALL % 5)
    content = build.library.read_bytes()
    build.library.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert built(SMALL % 5).library.read_bytes() == content


def test_without_a_cache_the_build_serves_its_process(
    empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    expected = built(SMALL % 6)
    archive = support_archive(find_toolchain())
    monkeypatch.setattr(build_module, "support_archive", lambda toolchain: archive)  # takes long to build
    monkeypatch.setenv("EVOENGINEER_CACHE_DIR", str(tmp_path / "file" / "cache"))
    build = built(SMALL % 6)
    assert build.id == expected.id
    assert build.library.read_bytes() == expected.library.read_bytes()

    def no_runner(command: Command) -> Finished:
        raise AssertionError("the compiler was started")

    assert built(SMALL % 6, runner=no_runner) == build
    failure = failed("#error stop\n")
    assert failed("#error stop\n", runner=no_runner) == failure


def test_a_cache_that_is_deleted_while_the_compiler_runs_does_no_harm(empty_cache: Path) -> None:
    def deleting(command: Command) -> Finished:
        finished = run_plain(command)
        shutil.rmtree(empty_cache / "builds", ignore_errors=True)
        (empty_cache / "builds").write_text("in the way")
        return finished

    build = built(SMALL % 8, runner=deleting)
    assert build.library.exists()
    (empty_cache / "builds").unlink()
    again = built(SMALL % 8)
    assert again.id == build.id


# -- headers -------------------------------------------------------------------------------------------


def test_headers_are_made_from_the_table_and_made_again(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(support, "_FORWARDED", Folders("headers"))
    ours, forwarding = header_folders()
    made = forwarding / "c10" / "util" / "Half.h"
    text = "#pragma once\n#include <evo/torch.h>\n#include <evo/half.h>\n"
    assert made.read_text() == text
    for damage in (lambda: made.write_text(""), made.unlink, lambda: shutil.rmtree(forwarding)):
        damage()
        assert header_folders() == (ours, forwarding)
        assert made.read_text() == text
    (empty_cache / "headers").rename(empty_cache / "moved")
    (empty_cache / "headers").write_text("in the way")
    elsewhere = header_folders()[1]
    assert elsewhere != forwarding
    assert (elsewhere / "torch" / "extension.h").exists()


def test_every_header_of_the_table_leads_to_one_of_ours() -> None:
    ours, forwarding = header_folders()
    names = [path for path in forwarding.rglob("*.*h") if path.is_file()]
    assert len(names) > 100
    for path in names:
        for included in re.findall("<(.*)>", path.read_text()):
            assert (ours / included).is_file()


def test_a_build_that_timed_out_is_tried_again(empty_cache: Path) -> None:
    failure = failed(SMALL % 2, runner=lambda command: Finished(-9, timed_out=True))
    assert failure.outcome == "timed_out"
    assert built(SMALL % 2).id


def test_many_builders_of_the_same_text_agree(empty_cache: Path) -> None:
    script = (
        "import sys; from evoengineer.kernel.build import build_kernel;"
        "print(build_kernel(sys.argv[1], sm=89).library.read_bytes().__hash__())"
    )
    command = [sys.executable, "-c", script, SMALL % 3]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    with ThreadPoolExecutor(3) as pool:
        runs = list(
            pool.map(
                lambda _: subprocess.run(command, env=environment, capture_output=True, check=True), range(3)
            )
        )
    assert len({run.stdout for run in runs}) == 1
    assert len(list((empty_cache / "builds").iterdir())) == 1


def test_a_killed_builder_leaves_no_entry(empty_cache: Path) -> None:
    def dies(command: Command) -> Finished:
        run_plain(command)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_kernel(SMALL % 4, sm=89, runner=dies)
    assert not list(empty_cache.glob("builds/*"))


HALVES = """#include <cuda_fp16.h>
__global__ void k(half* x) { x[0] = x[0] * x[1] + half(2.0f); }
void run(half* x) { k<<<1, 1>>>(x); }
"""


def test_half_operators_are_on_unless_the_problem_or_the_text_says_otherwise() -> None:
    assert built(HALVES).resources
    assert "*" in failed(HALVES, half_operators=False).text
    assert failed("// half-operators: off\n" + HALVES).outcome == "compile_error"
    assert built("// half-operators: on\n" + HALVES, half_operators=False).resources


def test_lambdas_may_be_made_for_the_device() -> None:
    assert built(
        """template <typename F> __global__ void each(F f) { f(threadIdx.x); }
        void run(float* x, float by) { each<<<1, 32>>>([=] __device__(int i) { x[i] *= by; }); }
        """
    ).resources


def test_sized_integers_need_no_header() -> None:
    assert built(
        "__global__ void k(float* x) { if (((uintptr_t)x & 15) == 0) x[0] = (uint8_t)1; }\n"
    ).resources


def test_a_header_of_curand_that_is_nowhere_is_named_with_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(build_module, "curand_folders", lambda toolchain: None)
    found = failed("#include <curand_kernel.h>\n" + SMALL % 77)
    assert found.outcome == "compile_error"
    assert "pip install nvidia-curand" in found.text


def test_ptxas_runs_once_for_a_build_and_the_simulated_gpu(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = built(ADD)
    image = next(
        section.data for section in read_sections(build.library.read_bytes()) if section.name == ".nv_fatbin"
    )

    def run(*_: object) -> tuple[str, bytes]:
        raise AssertionError("ptxas runs again")

    monkeypatch.setattr(ptxas, "_run_ptxas", run)
    texts = [ptx_of(image[at:], 89) for at in positions(image, MAGIC.to_bytes(4, "little"))]
    own = next(text for text in texts if text is not None and "_Z3addPKfS0_Pfi" in text)
    assembly = ptxas.Assembler(own, 89).result()
    assert assembly.cubin
    assert assembly.resources["_Z3addPKfS0_Pfi"].registers == build.resources[0].registers


def positions(data: bytes, wanted: bytes) -> list[int]:
    return [match.start() for match in re.finditer(re.escape(wanted), data)]


def test_a_text_is_the_embedded_one_but_for_comments_and_white_space() -> None:
    build = built(ADD)
    data = build.library.read_bytes()
    image = next(
        data[at:]
        for at in positions(data, MAGIC.to_bytes(4, "little"))
        if b"_Z3addPKfS0_Pfi" in data[at : at + 4096]
    )
    size = sum(struct.unpack_from("<HQ", image, 6))
    ptx = build.ptx.read_text()
    assert embedded_ptx(image[:size], ptx) is not None
    assert embedded_ptx(image[:size], ptx.replace("add.f32", "sub.f32")) is None
    assert (
        embedded_ptx(image[:size], ptx.replace("\tret;", "\t/* // */ ret;")) is None
    )  # it may hide something
    assert embedded_ptx(image[:size], ptx + "\n// more\nret;") is None
