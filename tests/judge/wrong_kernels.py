"""Kernels that must not pass: what is wrong with each, the verdict it deserves, and what the evidence must say.

Each is a whole extension file, put together from a host function that is right and a device function that is
not (or the other way round). Used by test_wrong_kernels.py.
"""

from dataclasses import dataclass

HEAD = "#include <torch/extension.h>\n#include <cmath>\n"
TAIL = '\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "forward"); }\n'


@dataclass(frozen=True)
class WrongKernel:
    problem: str
    outcome: str
    evidence: str  # a regular expression that summary or evidence must match
    source: str


def add(
    kernel: str, before: str = "", launch: str = "add<<<(n + 255) / 256, 256>>>(A, B, C, n);", extra: str = ""
) -> str:
    """Vector addition; A, B, C are pointers, n the number of elements."""
    return (
        HEAD + extra + kernel + "torch::Tensor forward(torch::Tensor a, torch::Tensor b) {\n"
        "    a = a.contiguous(); b = b.contiguous();\n" + before + "    auto c = torch::empty_like(a);\n"
        "    int n = a.numel();\n"
        "    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>(); float* C = c.data_ptr<float>();\n"
        "    (void)A; (void)B; (void)C; (void)n;\n"
        f"    {launch}\n    return c;\n}}" + TAIL
    )


ADD = """__global__ void add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
"""


def rows(
    kernel: str, launch: str = "softmax<<<rows, 256>>>(X, Y, columns);", extra: str = "", result: str = "y"
) -> str:
    """Softmax over rows; X, Y are pointers."""
    return (
        HEAD + extra + kernel + "torch::Tensor forward(torch::Tensor x) {\n"
        "    x = x.contiguous(); auto y = torch::empty_like(x);\n"
        "    int rows = x.size(0), columns = x.size(1); (void)rows; (void)columns;\n"
        "    const float* X = x.data_ptr<float>(); float* Y = y.data_ptr<float>(); (void)X; (void)Y;\n"
        f"    {launch}\n    return {result};\n}}" + TAIL
    )


def reduction(
    before_max: str = "__syncthreads();", after_max: str = "__syncthreads();", body: str = ""
) -> str:
    """A softmax kernel with barriers that can be left out."""
    text = """__global__ void softmax(const float* x, float* y, int columns) {
    __shared__ float s[256];
    int t = threadIdx.x; x += (long)blockIdx.x * columns; y += (long)blockIdx.x * columns;
    float m = -INFINITY;
    for (int c = t; c < columns; c += 256) m = fmaxf(m, x[c]);
    s[t] = m; BEFORE_MAX
    for (int h = 128; h > 0; h /= 2) { if (t < h) s[t] = fmaxf(s[t], s[t + h]); __syncthreads(); }
    m = s[0]; AFTER_MAX
    float sum = 0; for (int c = t; c < columns; c += 256) sum += expf(x[c] - m);
    s[t] = sum; __syncthreads();
    for (int h = 128; h > 0; h /= 2) { if (t < h) s[t] += s[t + h]; __syncthreads(); }
    sum = s[0];
    for (int c = t; c < columns; c += 256) y[c] = expf(x[c] - m) / sum; BODY
}
"""
    return text.replace("BEFORE_MAX", before_max).replace("AFTER_MAX", after_max).replace("BODY", body)


def matmul(kernel: str, grid: str = "dim3((n + 15) / 16, (m + 15) / 16)", extra: str = "") -> str:
    return (
        HEAD + extra + kernel + "torch::Tensor forward(torch::Tensor a, torch::Tensor b) {\n"
        "    a = a.contiguous(); b = b.contiguous();\n"
        "    int m = a.size(0), k = a.size(1), n = b.size(1); auto c = torch::empty({m, n}, a.options());\n"
        f"    mm<<<{grid}, dim3(16, 16)>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), m, k, n);\n"
        "    return c;\n}" + TAIL
    )


def product(body: str, guard: str = "if (r >= m || c >= n) return;") -> str:
    return (
        "__global__ void mm(const float* a, const float* b, float* o, int m, int k, int n) {\n"
        "    int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;\n"
        f"    {guard}\n{body}\n}}\n"
    )


TILED_WITHOUT_BARRIER = """__global__ void mm(const float* a, const float* b, float* o, int m, int k, int n) {
    __shared__ float A[16][16], B[16][16];
    int x = threadIdx.x, y = threadIdx.y, r = blockIdx.y * 16 + y, c = blockIdx.x * 16 + x;
    float sum = 0;
    for (int t = 0; t < k; t += 16) {
        A[y][x] = r < m && t + x < k ? a[r * k + t + x] : 0;
        B[y][x] = c < n && t + y < k ? b[(t + y) * n + c] : 0;
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += A[y][i] * B[i][x];
    }
    if (r < m && c < n) o[r * n + c] = sum;
}
"""

WRONG: dict[str, WrongKernel] = {
    # -- text and compilation --------------------------------------------------------------------------
    "empty_text": WrongKernel("vector_add", "unparsable", "no kernel", "   \n"),
    "prose": WrongKernel("vector_add", "unparsable", "no kernel", "I cannot write this kernel, sorry.\n"),
    "syntax_error": WrongKernel(
        "vector_add",
        "compile_error",
        "expected|line",
        add(ADD.replace("c[i] = a[i] + b[i];", "c[i] = a[i] + ;")),
    ),
    "undeclared": WrongKernel(
        "vector_add", "compile_error", "undefined", add(ADD.replace("a[i] + b[i]", "a[i] + d[i]"))
    ),
    "no_module": WrongKernel(
        "vector_add",
        "compile_error|crashed|forbidden|unparsable",
        "PYBIND11_MODULE",
        add(ADD).replace(TAIL, "\n"),
    ),
    "other_name": WrongKernel(
        "vector_add", "forbidden", "forward", add(ADD).replace('m.def("forward"', 'm.def("go"')
    ),
    "library_call": WrongKernel(
        "matmul",
        "forbidden",
        "matmul",
        HEAD
        + "torch::Tensor forward(torch::Tensor a, torch::Tensor b) { return torch::matmul(a, b); }"
        + TAIL,
    ),
    "library_method": WrongKernel(
        "matmul",
        "forbidden",
        "mm|matmul",
        HEAD + "torch::Tensor forward(torch::Tensor a, torch::Tensor b) { return a.matmul(b); }" + TAIL,
    ),
    "cublas": WrongKernel(
        "matmul", "forbidden", "cublas", "#include <cublas_v2.h>\n" + matmul(product("o[r * n + c] = 0;"))
    ),
    "secret_include": WrongKernel(
        "vector_add",
        "compile_error|forbidden",
        "passwd|shadow|include",
        '#include "/etc/passwd"\n' + add(ADD),
    ),
    "endless_template": WrongKernel(
        "vector_add",
        "compile_error|timed_out",
        "template|recursion|depth|limit|time",
        "template <int N> struct L { static constexpr int v = L<N + 1>::v; };\nstatic int q = L<0>::v;\n"
        + add(ADD),
    ),
    # -- wrong results -------------------------------------------------------------------------------
    "off_by_one": WrongKernel(
        "vector_add", "wrong", "never written|index", add(ADD.replace("i < n", "i < n - 1"))
    ),
    "wrong_operation": WrongKernel(
        "vector_add", "wrong", "expected", add(ADD.replace("a[i] + b[i]", "a[i] - b[i]"))
    ),
    "shifted": WrongKernel(
        "vector_add",
        "wrong",
        r"expected",
        add(ADD.replace("c[i] = a[i] + b[i]", "c[(i + 1) % n] = a[i] + b[i]")),
    ),
    "writes_nothing": WrongKernel(
        "vector_add", "wrong", "never written", add(ADD.replace("c[i] = a[i] + b[i]", "(void)c[i]"))
    ),
    "all_zeros": WrongKernel(
        "softmax", "wrong", "all of them are 0", rows("", "cudaMemset(Y, 0, sizeof(float) * rows * columns);")
    ),
    "uniform_softmax": WrongKernel(
        "softmax",
        "wrong",
        "wrong",
        rows(
            "__global__ void softmax(const float* x, float* y, int n) { for (int c = threadIdx.x; c < n; c += 256) y[(long)blockIdx.x * n + c] = 1.0f / n; }\n"
        ),
    ),
    "partial_rows": WrongKernel(
        "softmax",
        "wrong",
        "last|never written",
        rows(reduction(), "softmax<<<rows > 1 ? rows - 1 : rows, 256>>>(X, Y, columns);"),
    ),
    "wrong_axis": WrongKernel(
        "softmax",
        "wrong",
        "wrong",
        rows(
            "__global__ void softmax(const float* x, float* y, int rows, int columns) { int c = blockIdx.x; if (threadIdx.x) return; float s = 0, m = -INFINITY; for (int r = 0; r < rows; r++) m = fmaxf(m, x[r * columns + c]); for (int r = 0; r < rows; r++) s += expf(x[r * columns + c] - m); for (int r = 0; r < rows; r++) y[r * columns + c] = expf(x[r * columns + c] - m) / s; }\n",
            "softmax<<<columns, 32>>>(X, Y, rows, columns);",
        ),
    ),
    "unstable_softmax": WrongKernel(
        "softmax",
        "wrong",
        "NaN|nan|infinite|wrong",
        rows(
            "__global__ void softmax(const float* x, float* y, int n) { if (threadIdx.x) return; x += (long)blockIdx.x * n; y += (long)blockIdx.x * n; float s = 0; for (int c = 0; c < n; c++) s += expf(x[c]); for (int c = 0; c < n; c++) y[c] = expf(x[c]) / s; }\n"
        ),
    ),
    "nan_everywhere": WrongKernel("vector_add", "wrong", "NaN", add(ADD.replace("a[i] + b[i]", 'nanf("")'))),
    "half_precision": WrongKernel(
        "matmul",
        "wrong",
        "lower precision|wrong",
        matmul(
            product(
                "    float s = 0; for (int i = 0; i < k; i++) s += __half2float(__float2half(a[r * k + i])) * __half2float(__float2half(b[i * n + c])); o[r * n + c] = s;"
            ),
            extra="#include <cuda_fp16.h>\n",
        ),
    ),
    "half_accumulator": WrongKernel(
        "matmul",
        "wrong",
        "wrong",
        matmul(
            product(
                "    __half s = __float2half(0.f); for (int i = 0; i < k; i++) s = __hadd(s, __float2half(a[r * k + i] * b[i * n + c])); o[r * n + c] = __half2float(s);"
            ),
            extra="#include <cuda_fp16.h>\n",
        ),
    ),
    "part_of_k": WrongKernel(
        "matmul",
        "wrong",
        "wrong",
        matmul(
            product(
                "    float s = 0; for (int i = 0; i < k - k % 16; i++) s += a[r * k + i] * b[i * n + c]; o[r * n + c] = s;"
            )
        ),
    ),
    "transposed_result": WrongKernel(
        "matmul",
        "wrong",
        "wrong",
        matmul(
            product(
                "    float s = 0; for (int i = 0; i < k; i++) s += a[r * k + i] * b[i * n + c]; o[c * m + r] = s;"
            )
        ),
    ),
    "scaled": WrongKernel(
        "matmul",
        "wrong",
        "2 times",
        matmul(
            product(
                "    float s = 0; for (int i = 0; i < k; i++) s += a[r * k + i] * b[i * n + c]; o[r * n + c] = 2 * s;"
            )
        ),
    ),
    "wrong_shape": WrongKernel(
        "matmul",
        "wrong",
        "shape",
        matmul(
            product(
                "    float s = 0; for (int i = 0; i < k; i++) s += a[r * k + i] * b[i * n + c]; o[r * n + c] = s;"
            )
        ).replace("return c;", "return c.view({n, m});"),
    ),
    "wrong_dtype": WrongKernel(
        "vector_add",
        "wrong",
        "float64",
        HEAD
        + "__global__ void add(const float* a, const float* b, double* c, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) c[i] = a[i] + b[i]; }\ntorch::Tensor forward(torch::Tensor a, torch::Tensor b) { a = a.contiguous(); b = b.contiguous(); auto c = torch::empty({a.numel()}, a.options().dtype(torch::kFloat64)); add<<<(a.numel() + 255) / 256, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<double>(), a.numel()); return c; }"
        + TAIL,
    ),
    "returns_input": WrongKernel(
        "vector_add",
        "wrong",
        "expected",
        HEAD + "torch::Tensor forward(torch::Tensor a, torch::Tensor b) { return a.contiguous(); }" + TAIL,
    ),
    "two_outputs": WrongKernel(
        "vector_add",
        "wrong",
        "2 tensors",
        add(ADD)
        .replace("torch::Tensor forward", "std::vector<torch::Tensor> forward")
        .replace("return c;", "return {c, c};"),
    ),
    # -- memory ----------------------------------------------------------------------------------------
    "missing_guard": WrongKernel(
        "vector_add", "memory_error", r"kernel.cu:\d+", add(ADD.replace("if (i < n) ", ""))
    ),
    "read_past_end": WrongKernel(
        "vector_add", "memory_error", "read of size 4", add(ADD.replace("b[i]", "b[i + 1] * 0 + b[i]"))
    ),
    "negative_index": WrongKernel(
        "vector_add", "memory_error", "before the nearest", add(ADD.replace("b[i]", "b[i] + 0 * a[i - 1]"))
    ),
    "misaligned_vector": WrongKernel(
        "vector_add",
        "memory_error",
        "isaligned|Invalid",
        add(
            "__global__ void add(const float* a, const float* b, float* c, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) { float2 v = *(const float2*)(a + i); c[i] = v.x + 0 * v.y + b[i]; } }\n"
        ),
    ),
    "uninitialised_output": WrongKernel(
        "vector_add",
        "memory_error",
        "ninitialised",
        add(ADD.replace("c[i] = a[i] + b[i]", "c[i] += a[i] + b[i]")),
    ),
    "uninitialised_shared": WrongKernel(
        "softmax",
        "memory_error",
        "ninitialised",
        rows(
            "__global__ void softmax(const float* x, float* y, int n) { __shared__ float s[64]; y[(long)blockIdx.x * n] = x[0] + s[threadIdx.x % 64]; }\n"
        ),
    ),
    "changes_input": WrongKernel(
        "vector_add",
        "memory_error",
        "an input|input a|changes",
        add(
            "__global__ void add(float* a, const float* b, float* c, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) { c[i] = a[i] + b[i]; a[i] = 0; } }\n",
            launch="add<<<(n + 255) / 256, 256>>>((float*)A, B, C, n);",
        ),
    ),
    "freed_memory": WrongKernel(
        "vector_add",
        "memory_error",
        "freed|Invalid",
        add(
            ADD,
            launch="float* t; cudaMalloc(&t, n * 4 + 4); cudaFree(t); add<<<(n + 255) / 256, 256>>>(A, t, C, n);",
        ),
    ),
    "host_pointer": WrongKernel(
        "vector_add",
        "memory_error",
        "no allocation|Invalid",
        add(ADD, launch="static float h[16]; add<<<1, 1>>>(A, h, C, 1);"),
    ),
    # -- races -----------------------------------------------------------------------------------------
    "missing_barrier": WrongKernel("softmax", "race", "(?i)race", rows(reduction(before_max=""))),
    "missing_second_barrier": WrongKernel("softmax", "race", "(?i)race", rows(reduction(after_max=""))),
    "tile_without_barrier": WrongKernel("matmul", "race", "(?i)race", matmul(TILED_WITHOUT_BARRIER)),
    "divergent_barrier": WrongKernel(
        "softmax",
        "race",
        "(?i)barrier",
        rows(
            "__global__ void softmax(const float* x, float* y, int n) { __shared__ float s[256]; s[threadIdx.x] = 0; if (threadIdx.x < 100) __syncthreads(); if (threadIdx.x < n) y[(long)blockIdx.x * n + threadIdx.x] = s[threadIdx.x]; }\n"
        ),
    ),
    "sum_without_atomics": WrongKernel(
        "softmax",
        "race",
        "(?i)race|different results",
        rows(
            "__global__ void softmax(const float* x, float* y, float* s, int n) { float v = 0; for (int c = threadIdx.x; c < n; c += 32) v += expf(x[(long)blockIdx.x * n + c]); s[0] += v; y[(long)blockIdx.x * n] = s[0]; }\n",
            "auto s = torch::zeros({1}, x.options()); softmax<<<rows, 32>>>(X, Y, s.data_ptr<float>(), columns);",
        ),
    ),
    # -- time and crashes --------------------------------------------------------------------------------
    "endless_kernel": WrongKernel(
        "vector_add",
        "timed_out",
        "(?i)limit|seconds",
        add(ADD.replace("if (i < n)", "for (volatile int z = 1; z;) {} if (i < n)")),
    ),
    "endless_host": WrongKernel(
        "vector_add", "timed_out", "(?i)limit", add(ADD, before="    for (volatile int z = 1; z;) {}\n")
    ),
    "endless_constructor": WrongKernel(
        "vector_add",
        "timed_out",
        "(?i)limit",
        add(ADD, extra="struct Z { Z() { for (volatile int z = 1; z;) {} } } z;\n"),
    ),
    "segfault": WrongKernel(
        "vector_add", "crashed", "SIGSEGV", add(ADD, before="    *(volatile int*)8 = 1;\n")
    ),
    "host_reads_device": WrongKernel(
        "vector_add", "crashed", "SIGSEGV|signal|device memory", add(ADD, launch="C[0] = A[0] + B[0];")
    ),
    "exit_zero": WrongKernel(
        "vector_add",
        "crashed",
        "exited with code 0",
        add(ADD, before="    _exit(0);\n", extra="#include <unistd.h>\n"),
    ),
    "throws": WrongKernel(
        "vector_add",
        "crashed",
        "no luck",
        add(ADD, before='    throw std::runtime_error("no luck");\n', extra="#include <stdexcept>\n"),
    ),
    "failing_check": WrongKernel(
        "vector_add",
        "crashed",
        "multiple of 4",
        add(ADD, before='    TORCH_CHECK(a.numel() % 4 == 0, "numel must be a multiple of 4");\n'),
    ),
    "too_many_threads": WrongKernel(
        "vector_add", "crashed", "invalid", add(ADD, launch="add<<<1, 2048>>>(A, B, C, n);")
    ),
    "too_much_shared": WrongKernel(
        "vector_add", "crashed", "invalid", add(ADD, launch="add<<<1, 32, 1 << 20>>>(A, B, C, n);")
    ),
    "trap": WrongKernel(
        "vector_add",
        "crashed",
        "(?i)trap",
        add(ADD.replace("if (i < n)", "if (i == 0) __trap(); if (i < n)")),
    ),
    "assertion": WrongKernel(
        "vector_add",
        "crashed",
        "(?i)assert",
        add(ADD.replace("if (i < n)", "assert(n < 0); if (i < n)"), extra="#include <cassert>\n"),
    ),
    "too_few_arguments": WrongKernel(
        "vector_add",
        "crashed",
        "argument",
        HEAD + "torch::Tensor forward(torch::Tensor a) { return a; }" + TAIL,
    ),
    "memory_hog": WrongKernel(
        "vector_add",
        "crashed|timed_out",
        "memory|alloc|limit|SIGSEGV",
        add(
            ADD,
            before="    for (;;) { volatile char* p = (volatile char*)malloc(1 << 26); for (int i = 0; i < 1 << 26; i += 4096) p[i] = 1; }\n",
            extra="#include <cstdlib>\n",
        ),
    ),
    # -- dishonesty ------------------------------------------------------------------------------------
    "host_work": WrongKernel(
        "vector_add",
        "dishonest",
        "no kernel|host",
        add(
            ADD,
            launch="std::vector<float> u(n), v(n); cudaMemcpy(u.data(), A, 4 * n, cudaMemcpyDeviceToHost); cudaMemcpy(v.data(), B, 4 * n, cudaMemcpyDeviceToHost); for (int i = 0; i < n; i++) u[i] += v[i]; cudaMemcpy(C, u.data(), 4 * n, cudaMemcpyHostToDevice);",
            extra="#include <vector>\n",
        ),
    ),
    "cached_result": WrongKernel(
        "vector_add",
        "dishonest|wrong",
        "reused|launched|computed|expected",
        HEAD
        + "#include <map>\n"
        + ADD
        + "static std::map<void*, torch::Tensor> known;\ntorch::Tensor forward(torch::Tensor a, torch::Tensor b) { auto& c = known[a.data_ptr()]; if (c.defined() && c.numel() == a.numel()) return c; c = torch::empty({a.numel()}, a.options()); a = a.contiguous(); b = b.contiguous(); add<<<(a.numel() + 255) / 256, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), a.numel()); return c; }"
        + TAIL,
    ),
    "deferred_work": WrongKernel(
        "vector_add",
        "dishonest",
        "without having joined 1 host threads",
        HEAD
        + "#include <thread>\n#include <chrono>\n"
        + ADD
        + "torch::Tensor forward(torch::Tensor a, torch::Tensor b) { a = a.contiguous(); b = b.contiguous(); auto c = torch::empty_like(a); std::thread([=] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); add<<<(a.numel() + 255) / 256, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), (int)a.numel()); cudaDeviceSynchronize(); }).detach(); return c; }"
        + TAIL,
    ),
    "device_reset": WrongKernel(
        "vector_add",
        "dishonest|wrong|crashed",
        "reset|memory|invalid",
        add(ADD, launch="add<<<(n + 255) / 256, 256>>>(A, B, C, n); cudaDeviceReset();"),
    ),
    "side_stream_unfinished": WrongKernel(
        "vector_add",
        "wrong|race|dishonest",
        ".",
        add(
            ADD,
            launch="static float* other = nullptr; if (!other) cudaMalloc(&other, 1 << 20); if (n * 4 <= 1 << 20) { cudaMemcpy(C, other, n * 4, cudaMemcpyDeviceToDevice); add<<<(n + 255) / 256, 256>>>(A, B, other, n); } else add<<<(n + 255) / 256, 256>>>(A, B, C, n);",
        ),
    ),
    "raw_device_socket": WrongKernel(
        "vector_add",
        "dishonest|crashed|wrong",
        ".",
        add(
            ADD,
            before='    const char* f = getenv("EVOENGINEER_SIM_FD"); char junk[64]; memset(junk, 0x5a, 64); (void)!write(atoi(f ? f : "3"), junk, 64);\n',
            extra="#include <unistd.h>\n#include <cstring>\n#include <cstdlib>\n",
        ),
    ),
    "pinned_memory": WrongKernel(
        "vector_add",
        "dishonest",
        "pinned",
        add(ADD, launch="float* h; cudaMallocHost(&h, 4096); add<<<(n + 255) / 256, 256>>>(A, B, C, n);"),
    ),
    "forged_answer": WrongKernel(
        "vector_add",
        "dishonest|crashed|wrong",
        ".",
        add(
            ADD,
            before='    for (int fd = 3; fd < 64; fd++) { const char* t = "ok 0.001 0.001 0.001\\n"; (void)!write(fd, t, strlen(t)); }\n',
            extra="#include <unistd.h>\n#include <cstring>\n",
        ).replace("c[i] = a[i] + b[i]", "c[i] = 0"),
    ),
}
