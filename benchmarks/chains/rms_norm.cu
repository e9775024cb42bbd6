// RMS normalisation of the rows of a matrix, with a thread or a warp per row. SIZES are rows and columns; names end
// in the number of threads of a block.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "common.h"

namespace cg = cooperative_groups;
constexpr float kEpsilon = 1e-5f;

__global__ void thread_per_row(float* out, const float* in, const float* weight, const float* bias, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float* x = in + row * columns;
    float rms = 0.0f;
    for (int i = 0; i < columns; ++i) rms += x[i] * x[i];
    rms = sqrtf(rms / columns + kEpsilon);
    float* y = out + row * columns;
    for (int i = 0; i < columns; ++i) y[i] = x[i] / rms * weight[i] + bias[i];
}

__global__ void warp_per_row(float* __restrict__ out, const float* __restrict__ in, const float* __restrict__ weight,
                             const float* __restrict__ bias, int rows, int columns) {
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
    int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
    if (row >= rows) return;
    const float* x = in + row * columns;
    float squares = 0.0f;
    for (int i = warp.thread_rank(); i < columns; i += warp.size()) squares += x[i] * x[i];
    squares = cg::reduce(warp, squares, cg::plus<float>{});
    float rms = sqrtf(squares / columns + kEpsilon);
    float* y = out + row * columns;
    for (int i = warp.thread_rank(); i < columns; i += warp.size())
        __stcs(y + i, __ldcs(x + i) / rms * weight[i] + bias[i]);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {8192, 768}, {70, 768});
    const int rows = static_cast<int>(run.size(0)), columns = static_cast<int>(run.size(1));
    const size_t count = size_t(rows) * columns;
    chain::Array<float> in(count), out(count), weight(columns), bias(columns);
    std::vector<float> expected(run.verify ? count : 0);
    if (run.verify) {
        in.fill([](size_t i) { return chain::pattern(i, 1); });
        weight.fill([](size_t i) { return chain::pattern(i, 2); });
        bias.fill([](size_t i) { return chain::pattern(i, 3); });
        for (int row = 0; row < rows; ++row) {
            double squares = 0.0;
            for (int i = 0; i < columns; ++i) squares += std::pow(in.host[size_t(row) * columns + i], 2);
            const double rms = std::sqrt(squares / columns + kEpsilon);
            for (int i = 0; i < columns; ++i)
                expected[size_t(row) * columns + i] = float(in.host[size_t(row) * columns + i] / rms * weight.host[i] + bias.host[i]);
        }
    }
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    auto check = [&] { return chain::close(out, expected, 1e-5); };
    for (int threads = 32; threads <= 1024; threads *= 2) {
        const std::string size = std::to_string(threads);
        run.variant(("thread_" + size).c_str(),
                    [&] { thread_per_row<<<chain::ceil_div(rows, threads), threads>>>(out, in, weight, bias, rows, columns); },
                    check, prepare);
        run.variant(("warp_" + size).c_str(),
                    [&] { warp_per_row<<<chain::ceil_div(rows * 32LL, threads), threads>>>(out, in, weight, bias, rows, columns); },
                    check, prepare);
    }
    return run.finish();
}
