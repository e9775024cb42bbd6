// Passes over floats that nearly fit in L2: doubling one, four or 16 per thread (names give threads and floats per thread),
// with 32 KB of shared memory per block; and x x + x, with lanes side by side or each in one of 32 parts of the array.
// SIZE is the number of floats.
#include "common.h"

template <int kThreads, int kEach>
__global__ void twice(const float* in, float* out, int n) {
    float values[kEach];
    const int first = blockIdx.x * kThreads * kEach;
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
        const int i = first + e * kThreads + threadIdx.x;
        values[e] = i < n ? in[i] : 0.0f;
    }
#pragma unroll
    for (int e = 0; e < kEach; ++e) values[e] *= 2.0f;
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
        const int i = first + e * kThreads + threadIdx.x;
        if (i < n) out[i] = values[e];
    }
}

constexpr int kFloats = 32768 / sizeof(float);

__global__ void twice_shared(const float* in, float* out, int n) {
    __shared__ float shared[kFloats];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        shared[threadIdx.x % kFloats] = in[i];
        __syncthreads();
        out[i] = shared[threadIdx.x % kFloats] * 2.0f;
    }
}

__global__ void side_by_side(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * in[i] + in[i];
}

__global__ void in_parts(const float* in, float* out, int n, int parts) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int there = i % parts * (n / parts) + i / parts;
    if (there < n) out[there] = in[there] * in[there] + in[there];
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {10'000'000}, {10'240});
    const int n = static_cast<int>(run.size(0));
    chain::Array<float> in(n), out(n);
    std::vector<float> doubled, squared;
    if (run.verify) {
        in.fill([](size_t i) { return chain::pattern(i, 1); });
        for (float value : in.host) doubled.push_back(2.0f * value), squared.push_back(value * value + value);
    }
    auto are_doubled = [&] { return chain::close(out, doubled, 0.0); };
    auto are_squared = [&] { return chain::close(out, squared, 1e-6); };
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    const int blocks = chain::ceil_div(n, 256);
    run.variant("twice_256_1", [&] { twice<256, 1><<<blocks, 256>>>(in, out, n); }, are_doubled, prepare);
    run.variant("twice_256_4", [&] { twice<256, 4><<<chain::ceil_div(n, 1024), 256>>>(in, out, n); }, are_doubled, prepare);
    run.variant("twice_64_16", [&] { twice<64, 16><<<chain::ceil_div(n, 1024), 64>>>(in, out, n); }, are_doubled, prepare);
    run.variant("twice_shared", [&] { twice_shared<<<blocks, 256>>>(in, out, n); }, are_doubled, prepare);
    run.variant("in_parts", [&] { in_parts<<<blocks, 256>>>(in, out, n, 32); }, are_squared, prepare);
    run.variant("side_by_side", [&] { side_by_side<<<blocks, 256>>>(in, out, n); }, are_squared, prepare);
    return run.finish();
}
