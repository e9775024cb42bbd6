// SwiGLU, silu(x) * gate, of bf16 arrays, by elements and by 16 bytes. SIZE is the number of elements, a multiple of
// 8; names end in the number of threads of a block.
#include <cuda_bf16.h>

#include "common.h"

using Bf16 = __nv_bfloat16;

__device__ float swiglu(float x, float gate) { return x / (1.0f + expf(-x)) * gate; }

__global__ void elements(Bf16* out, const Bf16* in, const Bf16* gate, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = static_cast<Bf16>(swiglu(static_cast<float>(in[i]), static_cast<float>(gate[i])));
}

__global__ void vectors(Bf16* out, const Bf16* in, const Bf16* gate, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    if (i < n) {
        int4 x = __ldcs(reinterpret_cast<const int4*>(in + i)), g = __ldcs(reinterpret_cast<const int4*>(gate + i)), y;
        for (int k = 0; k < 8; ++k)
            reinterpret_cast<Bf16*>(&y)[k] = static_cast<Bf16>(
                swiglu(static_cast<float>(reinterpret_cast<Bf16*>(&x)[k]), static_cast<float>(reinterpret_cast<Bf16*>(&g)[k])));
        *reinterpret_cast<int4*>(out + i) = y;
    }
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {8 * 1024 * 768}, {10000});
    const int n = static_cast<int>(run.size(0));
    chain::Array<Bf16> in(n), gate(n), out(n);
    std::vector<float> expected(run.verify ? n : 0);
    if (run.verify) {
        in.fill([](size_t i) { return 4 * chain::pattern(i, 1); });
        gate.fill([](size_t i) { return chain::pattern(i, 2); });
        for (int i = 0; i < n; ++i) {
            const float x = float(in.host[i]);
            expected[i] = x / (1.0f + std::exp(-x)) * float(gate.host[i]);
        }
    }
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    auto check = [&] { return chain::close(out, expected, 1e-2); };
    for (int threads = 32; threads <= 1024; threads *= 2) {
        const std::string size = std::to_string(threads);
        run.variant(("elements_" + size).c_str(),
                    [&] { elements<<<chain::ceil_div(n, threads), threads>>>(out, in, gate, n); }, check, prepare);
        run.variant(("vectors_" + size).c_str(),
                    [&] { vectors<<<chain::ceil_div(n, threads * 8), threads>>>(out, in, gate, n); }, check, prepare);
    }
    return run.finish();
}
