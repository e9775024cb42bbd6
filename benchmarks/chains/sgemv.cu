// Matrix times vector, a warp or half a warp per row, for matrices of many rows and few columns. Blocks of 128
// threads; SIZE is the number of rows.
#include "common.h"

constexpr unsigned kAll = 0xffffffffu;

template <int kWidth>
__device__ float warp_sum(float sum) {
#pragma unroll
    for (int distance = kWidth / 2; distance > 0; distance >>= 1) sum += __shfl_down_sync(kAll, sum, distance);
    return sum;
}

// v0: a warp per row, one element per lane and step.
__global__ void single(const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, int m, int n) {
    int lane = threadIdx.x % 32, row = blockDim.y * blockIdx.x + threadIdx.y;
    if (row < m) {
        float sum = 0.0f;
        int steps = max(n / 32, 1);
#pragma unroll
        for (int i = 0; i < steps; ++i) sum += a[row * n + i * 32 + lane] * x[i * 32 + lane];
        sum = warp_sum<32>(sum);
        if (lane == 0) y[row] = sum;
    }
}

// v1: a warp per row, 16 bytes per lane and step.
__global__ void vectors(const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, int m, int n) {
    int lane = threadIdx.x % 32, row = blockDim.y * blockIdx.x + threadIdx.y;
    if (row < m) {
        float sum = 0.0f;
        int steps = max(n / 128, 1);
#pragma unroll
        for (int i = 0; i < steps; ++i) {
            float4 of_a = reinterpret_cast<const float4*>(&a[row * n])[i * 32 + lane];
            float4 of_x = reinterpret_cast<const float4*>(x)[i * 32 + lane];
            sum += of_a.x * of_x.x;
            sum += of_a.y * of_x.y;
            sum += of_a.z * of_x.z;
            sum += of_a.w * of_x.w;
        }
        sum = warp_sum<32>(sum);
        if (lane == 0) y[row] = sum;
    }
}

// v2: two rows of 16 columns per warp.
__global__ void two_rows(const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, int m, int n) {
    constexpr int kRows = 2, kWidth = 32 / kRows;
    int lane = threadIdx.x % 32, column = lane % kWidth;
    int row = (blockDim.y * blockIdx.x + threadIdx.y) * kRows + lane / kWidth;
    if (row < m) {
        float sum = warp_sum<kWidth>(a[row * n + column] * x[column]);
        if (column == 0) y[row] = sum;
    }
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {16384}, {256});
    const int m = static_cast<int>(run.size(0));
    chain::Array<float> a(size_t(m) * 128), x(128), y(m);
    if (run.verify) {
        a.fill([](size_t i) { return chain::pattern(i, 1); });
        x.fill([](size_t i) { return chain::pattern(i, 2); });
    }
    auto prepare = [&] { if (run.verify) chain::poison(y); };
    auto check = [&](int n) {
        std::vector<double> expected(m);
        for (int row = 0; row < m; ++row)
            for (int i = 0; i < n; ++i) expected[row] += double(a.host[size_t(row) * n + i]) * x.host[i];
        return chain::close(y, expected, 1e-4);
    };
    const dim3 block(32, 4);
    run.variant("v0_32", [&] { single<<<m / 4, block>>>(a, x, y, m, 32); }, [&] { return check(32); }, prepare);
    run.variant("v1_128", [&] { vectors<<<m / 4, block>>>(a, x, y, m, 128); }, [&] { return check(128); }, prepare);
    run.variant("v2_16", [&] { two_rows<<<m / 8, block>>>(a, x, y, m, 16); }, [&] { return check(16); }, prepare);
    return run.finish();
}
