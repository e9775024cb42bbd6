// Layer normalisation of the rows of a matrix with a warp per row. Weights and biases are loaded into shared memory by
// the whole block, the row is kept there too, four numbers at a time. The variance comes from a second pass over the
// kept row, or from the sum of squares. SIZES are rows and columns (a multiple of 128); names end in the number of
// threads of a block.
#include "common.h"

constexpr float kEpsilon = 1e-5f;
constexpr unsigned kAll = 0xffffffffu;

__device__ float warp_sum(float sum) {
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(kAll, sum, distance);
    return sum;
}

template <bool kOnePass>
__global__ void normalise(float* __restrict__ out, float* __restrict__ means, float* __restrict__ factors,
                          const float* __restrict__ in, const float* __restrict__ weight, const float* __restrict__ bias,
                          int rows, int columns) {
    extern __shared__ float4 shared[];
    const int count = columns / 4;
    float4 *weights = shared, *biases = shared + count, *kept = shared + (2 + threadIdx.y) * count;
    for (int i = threadIdx.x + 32 * threadIdx.y; i < count; i += blockDim.y * 32) {
        weights[i] = reinterpret_cast<const float4*>(weight)[i];
        biases[i] = reinterpret_cast<const float4*>(bias)[i];
    }
    __syncthreads();
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;

    const float4* x = reinterpret_cast<const float4*>(in + size_t(row) * columns);
    float4* y = reinterpret_cast<float4*>(out + size_t(row) * columns);
    float sum = 0.0f, sum_of_squares = 0.0f;
    for (int i = threadIdx.x; i < count; i += 32) {
        const float4 v = __ldcs(x + i);
        sum += v.x + v.y + v.z + v.w;
        if (kOnePass) sum_of_squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
        kept[i] = v;
    }
    const float mean = warp_sum(sum) / columns;
    float variance = 0.0f;
    if (kOnePass) {
        variance = warp_sum(sum_of_squares) / columns - mean * mean;
    } else {
        for (int i = threadIdx.x; i < count; i += 32) {
            const float4 v = kept[i];
            variance += (v.x - mean) * (v.x - mean) + (v.y - mean) * (v.y - mean) + (v.z - mean) * (v.z - mean) +
                        (v.w - mean) * (v.w - mean);
        }
        variance = warp_sum(variance) / columns;
    }
    const float factor = rsqrtf(variance + kEpsilon);
    for (int i = threadIdx.x; i < count; i += 32) {
        const float4 v = kept[i], w = weights[i], b = biases[i];
        __stcs(y + i, make_float4(factor * (v.x - mean) * w.x + b.x, factor * (v.y - mean) * w.y + b.y,
                                  factor * (v.z - mean) * w.z + b.z, factor * (v.w - mean) * w.w + b.w));
    }
    if (threadIdx.x == 0) {
        __stcs(means + row, mean);
        __stcs(factors + row, factor);
    }
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {8192, 768}, {70, 768});
    const int rows = static_cast<int>(run.size(0)), columns = static_cast<int>(run.size(1));
    const size_t count = size_t(rows) * columns;
    chain::Array<float> in(count), out(count), weight(columns), bias(columns), means(rows), factors(rows);
    std::vector<float> expected(run.verify ? count : 0);
    if (run.verify) {
        in.fill([](size_t i) { return chain::pattern(i, 1) + 0.25f; });
        weight.fill([](size_t i) { return chain::pattern(i, 2); });
        bias.fill([](size_t i) { return chain::pattern(i, 3); });
        for (int row = 0; row < rows; ++row) {
            const float* x = in.host.data() + size_t(row) * columns;
            double mean = 0.0, variance = 0.0;
            for (int i = 0; i < columns; ++i) mean += x[i] / double(columns);
            for (int i = 0; i < columns; ++i) variance += (x[i] - mean) * (x[i] - mean) / columns;
            for (int i = 0; i < columns; ++i)
                expected[size_t(row) * columns + i] =
                    float((x[i] - mean) / std::sqrt(variance + kEpsilon) * weight.host[i] + bias.host[i]);
        }
    }
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    auto check = [&] { return chain::close(out, expected, 1e-5, 2.0); };
    for (auto kernel : {normalise<false>, normalise<true>}) {
        const std::string name = kernel == normalise<true> ? "one_pass_" : "two_passes_";
        for (int threads = 32; threads <= 1024; threads *= 2) {
            const int warps = threads / 32, bytes = (2 + warps) * columns * int(sizeof(float));
            CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
            run.variant((name + std::to_string(threads)).c_str(),
                        [&] { kernel<<<chain::ceil_div(rows, warps), dim3(32, warps), bytes>>>(out, means, factors, in, weight, bias, rows, columns); },
                        check, prepare);
        }
    }
    return run.finish();
}
