// Simple kernels of one benchmark. axpy: y = a x + y, eight blocks of 256 threads per multiprocessor that walk. sum: as many
// blocks, each over a stretch of its own, with shuffles, and a last block for their results. product: tiles of 16 x 16 of two
// square matrices. SIZE is the number of floats, or the side of the matrices.
#include "common.h"

constexpr int kThreads = 256, kWarps = kThreads / 32, kTile = 16;

__global__ __launch_bounds__(kThreads, 4) void axpy(const float* x, float* y, int n, float a) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = a * x[i] + y[i];
}

__device__ float sum_of_warp(float value) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(0xffffffffu, value, distance);
    return value;
}

__device__ void write_sum(float value, float* out) {
    __shared__ float parts[kWarps];
    value = sum_of_warp(value);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x) return;
    float total = 0.0f;
#pragma unroll
    for (int i = 0; i < kWarps; ++i) total += parts[i];
    *out = total;
}

__global__ __launch_bounds__(kThreads, 4) void sum_stretches(const float* __restrict__ x, float* __restrict__ sums,
                                                             long long n, int blocks) {
    const long long begin = blockIdx.x * n / blocks, end = (blockIdx.x + 1LL) * n / blocks;
    float value = 0.0f;
    for (long long i = begin + threadIdx.x; i < end; i += blockDim.x) value += x[i];
    write_sum(value, &sums[blockIdx.x]);
}

__global__ __launch_bounds__(kThreads, 4) void sum_last(const float* __restrict__ sums, float* __restrict__ out, int n) {
    float value = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) value += sums[i];
    write_sum(value, out);
}

__global__ __launch_bounds__(kThreads, 2) void product(const float* __restrict__ a, const float* __restrict__ b,
                                                       float* __restrict__ c, int n) {
    __shared__ float tile_a[kTile * kTile], tile_b[kTile * kTile];
    const int x = threadIdx.x % kTile, y = threadIdx.x / kTile;
    const int row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
    float value = 0.0f;
    for (int first = 0; first < n; first += kTile) {
        tile_a[y * kTile + x] = row < n && first + x < n ? a[row * n + first + x] : 0.0f;
        tile_b[y * kTile + x] = first + y < n && column < n ? b[(first + y) * n + column] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < kTile; ++k) value += tile_a[y * kTile + k] * tile_b[k * kTile + x];
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = value;
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1 << 20}, {64});
    const size_t n = run.size(0);
    const bool squares = argc > 1 && (!std::strcmp(argv[1], "product") || run.verify);
    const size_t count = squares ? n * n : n;
    chain::Array<float> x(count), y(count), out(count), sums(1024);
    std::vector<float> grown, total(1), products;
    if (run.verify) {
        x.fill([](size_t i) { return chain::pattern(i, 1); });
        y.fill([](size_t i) { return chain::pattern(i, 2); });
        for (size_t i = 0; i < n; ++i) grown.push_back(1.5f * x.host[i] + y.host[i]);
        for (size_t i = 0; i < n; ++i) total[0] += x.host[i];
        for (size_t row = 0; row < n; ++row)
            for (size_t column = 0; column < n; ++column) {
                float value = 0.0f;
                for (size_t k = 0; k < n; ++k) value += x.host[row * n + k] * y.host[k * n + column];
                products.push_back(value);
            }
    }
    cudaDeviceProp card;
    CHECK(cudaGetDeviceProperties(&card, 0));
    const int most = 8 * card.multiProcessorCount, walking = std::min(chain::ceil_div(n, kThreads), most);
    const int stretches = std::min(most, 1024);
    const dim3 grid(chain::ceil_div(n, kTile), chain::ceil_div(n, kTile));
    run.variant("axpy", [&] { axpy<<<walking, kThreads>>>(x, y, int(n), 1.5f); },
                [&] { return chain::close(y, grown, 1e-5); }, [&] { if (run.verify) y.upload(); });
    run.variant("sum", [&] {
        sum_stretches<<<stretches, kThreads>>>(x, sums, n, stretches);
        sum_last<<<1, kThreads>>>(sums, out, stretches);
    }, [&] { return chain::close(out, total, 1e-3); });
    run.variant("product", [&] { product<<<grid, kThreads>>>(x, y, out, int(n)); },
                [&] { return chain::close(out, products, 1e-4); }, [&] { if (run.verify) y.upload(); });
    return run.finish();
}
