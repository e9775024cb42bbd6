// A copy of floats, one per thread, by blocks of 256: in order, with every lane reading a line of its own (the places
// wrap round at the end of the array), or four floats per thread. SIZE is the number of floats.
#include "common.h"

__global__ void scalar(const float* __restrict__ in, float* __restrict__ out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}

__global__ void scattered(const float* __restrict__ in, float* __restrict__ out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int lane = threadIdx.x & 31, warp = i >> 5;
    const long long from = (static_cast<long long>(warp) * 32 + lane) * 32;
    out[i] = in[from % n];
}

__global__ void vectors(const float4* __restrict__ in, float4* __restrict__ out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1 << 25}, {4096});
    const int n = static_cast<int>(run.size(0)), blocks = chain::ceil_div(n, 256);
    chain::Array<float> in(n), out(n);
    std::vector<float> straight, wrapped;
    if (run.verify) {
        in.fill([](size_t i) { return chain::pattern(i, 1); });
        straight = in.host;
        for (long long i = 0; i < n; ++i) wrapped.push_back(in.host[i * 32 % n]);
    }
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    auto check = [&] { return chain::close(out, straight, 0.0); };
    run.variant("scalar", [&] { scalar<<<blocks, 256>>>(in, out, n); }, check, prepare);
    run.variant("scattered", [&] { scattered<<<blocks, 256>>>(in, out, n); },
                [&] { return chain::close(out, wrapped, 0.0); }, prepare);
    run.variant("vectors", [&] {
        vectors<<<chain::ceil_div(n / 4, 256), 256>>>(
            reinterpret_cast<const float4*>(in.data), reinterpret_cast<float4*>(out.data), n / 4);
    }, check, prepare);
    return run.finish();
}
