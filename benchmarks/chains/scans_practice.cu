// Prefix sums by blocks of 1024 threads in shared memory: 1024 floats after Kogge and Stone and after Brent and Kung, 4096
// floats by one block with four per thread, and in three passes (scan blocks, scan their sums, add these). Names with a number
// give the floats.
#include "common.h"

constexpr int kThreads = 1024, kEach = 4;

__global__ void kogge_stone(const float* in, float* out, int n) {
    extern __shared__ float shared[];
    const int thread = threadIdx.x;
    shared[thread] = thread < n ? in[thread] : 0.0f;
    for (int distance = 1; distance < blockDim.x; distance *= 2) {
        __syncthreads();
        float value = 0.0f;
        if (thread >= distance) value = shared[thread] + shared[thread - distance];
        __syncthreads();
        if (thread >= distance) shared[thread] = value;
    }
    if (thread < n) out[thread] = shared[thread];
}

__global__ void brent_kung(const float* in, float* out, int n) {
    extern __shared__ float shared[];
    const int thread = threadIdx.x;
    shared[thread] = thread < n ? in[thread] : 0.0f;
    __syncthreads();
    for (int distance = 1; distance < blockDim.x; distance *= 2) {
        const int at = (thread + 1) * distance * 2 - 1;
        if (at < blockDim.x) shared[at] += shared[at - distance];
        __syncthreads();
    }
    for (int distance = blockDim.x / 4; distance > 0; distance /= 2) {
        const int at = (thread + 1) * distance * 2 - 1;
        if (at + distance < blockDim.x) shared[at + distance] += shared[at];
        __syncthreads();
    }
    if (thread < n) out[thread] = shared[thread];
}

__global__ void four_per_thread(const float* in, float* out, int n) {
    extern __shared__ float shared[];
    float* ends = shared + n;
    const int thread = threadIdx.x, sections = (n + kEach - 1) / kEach;
    for (int e = 0; e < kEach; ++e)
        if (thread * kEach + e < n) shared[thread * kEach + e] = in[thread * kEach + e];
    __syncthreads();
    for (int e = 1; e < kEach; ++e)
        if (thread * kEach + e < n) shared[thread * kEach + e] += shared[thread * kEach + e - 1];
    __syncthreads();
    if (thread < sections) {
        const int end = (thread + 1) * kEach - 1;
        ends[thread] = shared[end < n ? end : n - 1];
    }
    __syncthreads();
    for (int distance = 1; distance < sections; distance *= 2) {
        float value = 0.0f;
        if (thread >= distance && thread < sections) value = ends[thread] + ends[thread - distance];
        __syncthreads();
        if (thread >= distance && thread < sections) ends[thread] = value;
        __syncthreads();
    }
    for (int e = 0; e < kEach; ++e) {
        const int i = thread * kEach + e;
        if (i >= n) continue;
        if (i / kEach > 0) shared[i] += ends[i / kEach - 1];
        out[i] = shared[i];
    }
}

__global__ void scan_blocks(const float* in, float* out, float* sums, int n) {
    extern __shared__ float shared[];
    const int thread = threadIdx.x, i = blockIdx.x * blockDim.x + thread;
    shared[thread] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int distance = 1; distance < blockDim.x; distance *= 2) {
        float value = 0.0f;
        if (thread >= distance) value = shared[thread] + shared[thread - distance];
        __syncthreads();
        if (thread >= distance) shared[thread] = value;
        __syncthreads();
    }
    if (i < n) out[i] = shared[thread];
    if (thread == blockDim.x - 1 && sums != nullptr) sums[blockIdx.x] = shared[thread];
}

__global__ void add_sums(float* out, const float* sums, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (blockIdx.x > 0 && i < n) out[i] += sums[blockIdx.x - 1];
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1 << 20}, {1 << 14});
    const int most = static_cast<int>(run.size(0));
    chain::Array<float> in(most), out(most), sums(kThreads), scanned(kThreads);
    std::vector<float> expected;
    if (run.verify) {
        in.fill([](size_t i) { return chain::pattern(i, 1); });
        float sum = 0.0f;
        for (float value : in.host) expected.push_back(sum += value);
    }
    auto is_first = [&](int n) {
        return [&, n] {
            return chain::close(out, std::vector<float>(expected.begin(), expected.begin() + n), 1e-3);
        };
    };
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    const size_t block_bytes = kThreads * sizeof(float);
    auto three_passes = [&](int n) {
        const int blocks = chain::ceil_div(n, kThreads);
        scan_blocks<<<blocks, kThreads, block_bytes>>>(in, out, sums, n);
        scan_blocks<<<1, std::min(blocks, kThreads), block_bytes>>>(sums, scanned, nullptr, blocks);
        add_sums<<<blocks, kThreads>>>(out, scanned, n);
    };
    run.variant("kogge_stone_1024", [&] { kogge_stone<<<1, kThreads, block_bytes>>>(in, out, 1024); }, is_first(1024), prepare);
    run.variant("brent_kung_1024", [&] { brent_kung<<<1, kThreads, block_bytes>>>(in, out, 1024); }, is_first(1024), prepare);
    run.variant("four_per_thread_4096", [&] {
        four_per_thread<<<1, kThreads, (4096 + 1024) * sizeof(float)>>>(in, out, 4096);
    }, is_first(4096), prepare);
    run.variant("three_passes_4096", [&] { three_passes(4096); }, is_first(4096), prepare);
    run.variant("three_passes_all", [&] { three_passes(most); }, is_first(most), prepare);
    return run.finish();
}
