// Passes whose lanes exchange floats: all get the first lane's, halves of warps and neighbours swap theirs, and warps are
// added up. Blocks of 256; SIZE is the number of floats, a multiple of 32.
#include "common.h"

__global__ void broadcast(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __shfl_sync(0xffffffffu, in[i], 0);
}

__global__ void swap_halves(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __shfl_xor_sync(0xffffffffu, in[i], 16);
}

__global__ void swap_neighbours(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float value = in[i];
    const float next = __shfl_down_sync(0xffffffffu, value, 1), last = __shfl_up_sync(0xffffffffu, value, 1);
    out[i] = threadIdx.x % 32 % 2 == 0 ? next : last;
}

__global__ void sums(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = in[i];
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(0xffffffffu, value, distance);
    if (threadIdx.x % 32 == 0) out[i / 32] = value;
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1 << 25}, {10'240});
    const int n = static_cast<int>(run.size(0)), blocks = chain::ceil_div(n, 256);
    chain::Array<float> in(n), out(n);
    std::vector<float> firsts, halves, neighbours, totals;
    if (run.verify) {
        in.fill([](size_t i) { return chain::pattern(i, 1); });
        for (int i = 0; i < n; ++i) {
            firsts.push_back(in.host[i / 32 * 32]);
            halves.push_back(in.host[i ^ 16]);
            neighbours.push_back(in.host[i ^ 1]);
            if (i % 32 == 0) totals.push_back(0.0f);
            totals.back() += in.host[i];
        }
    }
    auto is = [&](const std::vector<float>& expected) {
        return [&] { return chain::close(out, expected, 1e-4); };
    };
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    run.variant("broadcast", [&] { broadcast<<<blocks, 256>>>(in, out, n); }, is(firsts), prepare);
    run.variant("swap_halves", [&] { swap_halves<<<blocks, 256>>>(in, out, n); }, is(halves), prepare);
    run.variant("swap_neighbours", [&] { swap_neighbours<<<blocks, 256>>>(in, out, n); }, is(neighbours), prepare);
    run.variant("sums", [&] { sums<<<blocks, 256>>>(in, out, n); }, is(totals), prepare);
    return run.finish();
}
