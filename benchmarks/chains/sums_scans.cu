// Sums and running sums of floats within blocks of 256: sums by a tree in shared memory, by shuffles, and by 256 blocks
// that walk over the array; running sums by shuffles, or by a tree up and down. SIZE is the number of floats.
#include "common.h"

constexpr int kThreads = 256, kWarps = kThreads / 32, kWalkers = 256;

__global__ void tree(const float* __restrict__ in, float* __restrict__ out, int n) {
    __shared__ float sums[kThreads];
    const int thread = threadIdx.x, i = blockIdx.x * kThreads + thread;
    sums[thread] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int distance = kThreads / 2; distance > 0; distance >>= 1) {
        if (thread < distance) sums[thread] += sums[thread + distance];
        __syncthreads();
    }
    if (thread == 0) out[blockIdx.x] = sums[0];
}

__device__ float warp_sum(float value) {
    for (int distance = 16; distance > 0; distance >>= 1) value += __shfl_down_sync(0xffffffff, value, distance);
    return value;
}

// In the block's first thread.
__device__ float block_sum(float value) {
    __shared__ float sums[kWarps];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    value = warp_sum(value);
    if (lane == 0) sums[warp] = value;
    __syncthreads();
    if (warp == 0) value = warp_sum(lane < kWarps ? sums[lane] : 0.0f);
    return value;
}

__global__ void shuffles(const float* __restrict__ in, float* __restrict__ out, int n) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    const float sum = block_sum(i < n ? in[i] : 0.0f);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

__global__ void walk(const float* __restrict__ in, float* __restrict__ out, int n) {
    float own = 0.0f;
    for (int i = blockIdx.x * kThreads + threadIdx.x; i < n; i += kThreads * gridDim.x) own += in[i];
    const float sum = block_sum(own);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

__device__ float warp_scan(float value) {
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int distance = 1; distance < 32; distance <<= 1) {
        const float below = __shfl_up_sync(0xffffffff, value, distance);
        if (lane >= distance) value += below;
    }
    return value;
}

__global__ void scan_shuffles(const float* __restrict__ in, float* __restrict__ out, int n) {
    __shared__ float totals[kWarps];
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    float value = warp_scan(i < n ? in[i] : 0.0f);
    if (lane == 31) totals[warp] = value;
    __syncthreads();
    if (warp == 0) {
        const float total = warp_scan(lane < kWarps ? totals[lane] : 0.0f);
        if (lane < kWarps) totals[lane] = total;
    }
    __syncthreads();
    if (warp > 0) value += totals[warp - 1];
    if (i < n) out[i] = value;
}

__global__ void scan_tree(const float* __restrict__ in, float* __restrict__ out, int n) {
    __shared__ float cells[kThreads];
    const int thread = threadIdx.x, i = blockIdx.x * blockDim.x + thread;
    const float own = i < n ? in[i] : 0.0f;
    cells[thread] = own;
    __syncthreads();
    for (int stride = 1; stride < kThreads; stride <<= 1) {
        const int at = (thread + 1) * (stride << 1) - 1;
        if (at < kThreads) cells[at] += cells[at - stride];
        __syncthreads();
    }
    if (thread == 0) cells[kThreads - 1] = 0.0f;
    __syncthreads();
    for (int stride = kThreads >> 1; stride > 0; stride >>= 1) {
        const int at = (thread + 1) * (stride << 1) - 1;
        if (at < kThreads) {
            const float left = cells[at - stride];
            cells[at - stride] = cells[at];
            cells[at] += left;
        }
        __syncthreads();
    }
    const float sum = cells[thread] + own;
    if (i < n) out[i] = sum;
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1 << 26}, {1000});
    const int n = static_cast<int>(run.size(0)), blocks = chain::ceil_div(n, kThreads);
    const int walkers = run.verify ? 2 : kWalkers;
    chain::Array<float> in(n), out(std::max(n, kWalkers));
    std::vector<float> sums(blocks), walked(walkers), scanned;
    if (run.verify) {
        in.fill([](size_t i) { return chain::pattern(i, 1); });
        float running = 0.0f;
        for (int i = 0; i < n; ++i) {
            sums[i / kThreads] += in.host[i];
            walked[i / kThreads % walkers] += in.host[i];
            scanned.push_back(running = (i % kThreads ? running : 0.0f) + in.host[i]);
        }
    }
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    auto check = [&] { return chain::close(out, sums, 1e-5, 100.0); };
    auto check_scan = [&] { return chain::close(out, scanned, 1e-5, 100.0); };
    run.variant("tree", [&] { tree<<<blocks, kThreads>>>(in, out, n); }, check, prepare);
    run.variant("shuffles", [&] { shuffles<<<blocks, kThreads>>>(in, out, n); }, check, prepare);
    run.variant("walk", [&] { walk<<<walkers, kThreads>>>(in, out, n); },
                [&] { return chain::close(out, walked, 1e-5, 100.0); }, prepare);
    run.variant("scan_shuffles", [&] { scan_shuffles<<<blocks, kThreads>>>(in, out, n); }, check_scan, prepare);
    run.variant("scan_tree", [&] { scan_tree<<<blocks, kThreads>>>(in, out, n); }, check_scan, prepare);
    return run.finish();
}
