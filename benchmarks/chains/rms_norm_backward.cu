// Gradients of an RMS normalisation of rows, with a thread or a warp per row. The gradients of weights and biases are
// sums over all rows and are added by atomics. SIZES are rows and columns; names end in the number of threads of a
// block.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "common.h"

namespace cg = cooperative_groups;
constexpr float kEpsilon = 1e-5f;

// All lanes of a warp add to the same element at a time.
__global__ void thread_per_row(float* d_in, float* d_weight, float* d_bias, const float* d_out, const float* in,
                               const float* weight, int rows, int columns) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float *dy = d_out + row * columns, *x = in + row * columns;
    float* dx = d_in + row * columns;
    float rms = 0.0f;
    for (int i = 0; i < columns; ++i) rms += x[i] * x[i];
    rms = sqrtf(rms / columns + kEpsilon);
    for (int i = 0; i < columns; ++i) {
        const float normed = x[i] / rms;
        atomicAdd(&d_bias[i], dy[i]);
        atomicAdd(&d_weight[i], normed * dy[i]);
    }
    float d_rms = 0.0f;
    for (int i = 0; i < columns; ++i) d_rms += x[i] * dy[i] * weight[i];
    d_rms *= -1.0f / (rms * rms * rms * columns);
    for (int i = 0; i < columns; ++i) dx[i] = dy[i] * weight[i] / rms + d_rms * x[i];
}

__global__ void warp_per_row(float* __restrict__ d_in, float* __restrict__ d_weight, float* __restrict__ d_bias,
                             const float* __restrict__ d_out, const float* __restrict__ in,
                             const float* __restrict__ weight, int rows, int columns) {
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
    const int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
    if (row >= rows) return;
    const float *dy = d_out + row * columns, *x = in + row * columns;
    float* dx = d_in + row * columns;
    float squares = 0.0f;
    for (int i = warp.thread_rank(); i < columns; i += warp.size()) squares += x[i] * x[i];
    squares = cg::reduce(warp, squares, cg::plus<float>());
    const float rms = sqrtf(squares / columns + kEpsilon);
    for (int i = warp.thread_rank(); i < columns; i += warp.size()) {
        const float normed = x[i] / rms;
        atomicAdd(&d_bias[i], dy[i]);
        atomicAdd(&d_weight[i], normed * dy[i]);
    }
    float d_rms = 0.0f;
    for (int i = warp.thread_rank(); i < columns; i += warp.size()) d_rms += x[i] * dy[i] * weight[i];
    d_rms = cg::reduce(warp, d_rms, cg::plus<float>());
    d_rms *= -1.0f / (rms * rms * rms * columns);
    for (int i = warp.thread_rank(); i < columns; i += warp.size()) dx[i] = dy[i] * weight[i] / rms + d_rms * x[i];
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {8192, 768}, {70, 768});
    const int rows = static_cast<int>(run.size(0)), columns = static_cast<int>(run.size(1));
    const size_t count = size_t(rows) * columns;
    chain::Array<float> in(count), d_out(count), d_in(count), weight(columns), d_weight(columns), d_bias(columns);
    std::vector<double> expected_in(run.verify ? count : 0), expected_weight(columns), expected_bias(columns);
    if (run.verify) {
        in.fill([](size_t i) { return chain::pattern(i, 1); });
        d_out.fill([](size_t i) { return chain::pattern(i, 2); });
        weight.fill([](size_t i) { return chain::pattern(i, 3); });
        for (int row = 0; row < rows; ++row) {
            const float *x = in.host.data() + size_t(row) * columns, *dy = d_out.host.data() + size_t(row) * columns;
            double squares = 0.0, d_rms = 0.0;
            for (int i = 0; i < columns; ++i) squares += double(x[i]) * x[i];
            const double rms = std::sqrt(squares / columns + kEpsilon);
            for (int i = 0; i < columns; ++i) {
                expected_bias[i] += dy[i];
                expected_weight[i] += x[i] / rms * dy[i];
                d_rms += double(x[i]) * dy[i] * weight.host[i];
            }
            d_rms *= -1.0 / (rms * rms * rms * columns);
            for (int i = 0; i < columns; ++i) expected_in[size_t(row) * columns + i] = dy[i] * weight.host[i] / rms + d_rms * x[i];
        }
    }
    auto prepare = [&] {
        if (run.verify) chain::poison(d_in);
        CHECK(cudaMemset(d_weight, 0, columns * sizeof(float)));
        CHECK(cudaMemset(d_bias, 0, columns * sizeof(float)));
    };
    auto check = [&] {
        return chain::close(d_in, expected_in, 1e-5) && chain::close(d_weight, expected_weight, 1e-4, 10.0) &&
               chain::close(d_bias, expected_bias, 1e-4, 10.0);
    };
    for (int threads = 32; threads <= 1024; threads *= 2) {
        const std::string size = std::to_string(threads);
        run.variant(("thread_" + size).c_str(),
                    [&] { thread_per_row<<<chain::ceil_div(rows, threads), threads>>>(d_in, d_weight, d_bias, d_out, in, weight, rows, columns); },
                    check, prepare);
        run.variant(("warp_" + size).c_str(),
                    [&] { warp_per_row<<<chain::ceil_div(rows * 32LL, threads), threads>>>(d_in, d_weight, d_bias, d_out, in, weight, rows, columns); },
                    check, prepare);
    }
    return run.finish();
}
