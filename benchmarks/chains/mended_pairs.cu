// Two exercises, each before and after it was mended. y += a x with every lane reading a line of its own (as
// copy_patterns.cu does), or in order; rows divided by their length, 64 threads that keep their numbers in an array
// indexed at run time, or 256 that read them again. SIZEs: floats; rows and columns (at most 512).
#include "common.h"

__global__ void axpy_scattered(const float* __restrict__ x, float* __restrict__ y, float a, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int lane = threadIdx.x & 31, warp = i >> 5;
    const long long from = (static_cast<long long>(warp) * 32 + lane) * 32;
    y[i] = a * x[from % n] + y[i];
}

__global__ void axpy(const float* __restrict__ x, float* __restrict__ y, float a, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

template <int kThreads>
__device__ float fold(float own, float* sums) {
    sums[threadIdx.x] = own;
    __syncthreads();
    for (int distance = kThreads / 2; distance > 0; distance >>= 1) {
        if (threadIdx.x < distance) sums[threadIdx.x] += sums[threadIdx.x + distance];
        __syncthreads();
    }
    return sums[0];
}

__global__ void rows_kept(const float* __restrict__ in, float* __restrict__ out, int rows, int columns) {
    __shared__ float sums[64];
    const int row = blockIdx.x;
    if (row >= rows) return;
    float kept[512], own = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        const float value = in[row * columns + i];
        kept[i] = value;
        own += value * value;
    }
    const float by = rsqrtf(fold<64>(own, sums) + 1e-6f);
    for (int i = threadIdx.x; i < columns; i += blockDim.x) out[row * columns + i] = kept[i] * by;
}

__global__ void rows_again(const float* __restrict__ in, float* __restrict__ out, int rows, int columns) {
    __shared__ float sums[256];
    const int row = blockIdx.x;
    if (row >= rows) return;
    float own = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        const float value = in[row * columns + i];
        own += value * value;
    }
    const float by = rsqrtf(fold<256>(own, sums) + 1e-6f);
    for (int i = threadIdx.x; i < columns; i += blockDim.x) out[row * columns + i] = in[row * columns + i] * by;
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1 << 25, 4096, 512}, {4096, 5, 300});
    const int n = static_cast<int>(run.size(0)), rows = static_cast<int>(run.size(1)), columns = static_cast<int>(run.size(2));
    const int blocks = chain::ceil_div(n, 256);
    const float a = 2.0f;
    chain::Array<float> x(n), y(n), in(size_t(rows) * columns), out(size_t(rows) * columns);
    std::vector<float> scattered, straight, divided;
    if (run.verify) {
        x.fill([](size_t i) { return chain::pattern(i, 1); });
        for (long long i = 0; i < n; ++i) {
            straight.push_back(a * x.host[i] + chain::pattern(i, 2));
            scattered.push_back(a * x.host[i * 32 % n] + chain::pattern(i, 2));
        }
        in.fill([](size_t i) { return chain::pattern(i, 3); });
        for (int row = 0; row < rows; ++row) {
            double sum = 1e-6;
            for (int i = 0; i < columns; ++i) sum += double(in.host[row * columns + i]) * in.host[row * columns + i];
            for (int i = 0; i < columns; ++i) divided.push_back(float(in.host[row * columns + i] / std::sqrt(sum)));
        }
    }
    auto refill = [&] { if (run.verify) y.fill([](size_t i) { return chain::pattern(i, 2); }); };
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    auto right = [&] { return chain::close(out, divided, 1e-5); };
    run.variant("axpy_scattered", [&] { axpy_scattered<<<blocks, 256>>>(x, y, a, n); },
                [&] { return chain::close(y, scattered, 1e-6); }, refill);
    run.variant("axpy", [&] { axpy<<<blocks, 256>>>(x, y, a, n); }, [&] { return chain::close(y, straight, 1e-6); }, refill);
    run.variant("rows_kept", [&] { rows_kept<<<rows, 64>>>(in, out, rows, columns); }, right, prepare);
    run.variant("rows_again", [&] { rows_again<<<rows, 256>>>(in, out, rows, columns); }, right, prepare);
    return run.finish();
}
