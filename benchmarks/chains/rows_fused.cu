// Softmax and normalisation of rows, a block of 256 for each, in one kernel or in several. Softmax: three walks over the
// row, two with a running maximum, or four kernels. Normalisation: one walk for both moments or one that updates mean
// and deviation number by number, two kernels of which the first walks twice, or one that adds a residual and keeps the
// sum. SIZEs: rows, columns.
#include "common.h"

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr float kEps = 1e-5f;

__device__ float add(float a, float b) { return a + b; }
__device__ float larger(float a, float b) { return fmaxf(a, b); }

template <float (*kCombine)(float, float)>
__device__ float fold_warp(float value) {
    for (int distance = 16; distance > 0; distance >>= 1) value = kCombine(value, __shfl_xor_sync(0xffffffff, value, distance));
    return value;
}

template <float (*kCombine)(float, float)>
__device__ float fold(float value, float* parts, float neutral) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    value = fold_warp<kCombine>(value);
    if (lane == 0) parts[warp] = value;
    __syncthreads();
    if (warp == 0) {
        value = fold_warp<kCombine>(lane < kWarps ? parts[lane] : neutral);
        if (lane == 0) parts[0] = value;
    }
    __syncthreads();
    return parts[0];
}

// Of two in a row each takes a place of its own: some warps begin the second while others read the first's result.
__device__ float block_sum(float value, float* parts) { return fold<add>(value, parts, 0.0f); }
__device__ float block_max(float value, float* parts) { return fold<larger>(value, parts, -INFINITY); }

// -- softmax -----------------------------------------------------------------------------------------------------

__global__ void softmax_walks(const float* __restrict__ in, float* __restrict__ out, int columns) {
    __shared__ float parts[2][kWarps];
    const float* x = in + blockIdx.x * columns;
    float* y = out + blockIdx.x * columns;
    float own = -INFINITY;
    for (int i = threadIdx.x; i < columns; i += kThreads) own = fmaxf(own, x[i]);
    const float top = block_max(own, parts[0]);
    own = 0.0f;
    for (int i = threadIdx.x; i < columns; i += kThreads) own += expf(x[i] - top);
    const float by = 1.0f / block_sum(own, parts[1]);
    for (int i = threadIdx.x; i < columns; i += kThreads) y[i] = expf(x[i] - top) * by;
}

struct Running {
    float top, sum;  // of exponentials, relative to the top
};

__device__ Running merge(Running a, Running b) {
    const float top = fmaxf(a.top, b.top);
    const float from_a = a.top == -INFINITY ? 0.0f : __expf(a.top - top);
    const float from_b = b.top == -INFINITY ? 0.0f : __expf(b.top - top);
    return {top, a.sum * from_a + b.sum * from_b};
}

__device__ Running merge_warp(Running own) {
    for (int distance = 16; distance > 0; distance >>= 1) {
        Running other{__shfl_down_sync(0xffffffff, own.top, distance), __shfl_down_sync(0xffffffff, own.sum, distance)};
        own = merge(own, other);
    }
    return own;
}

__global__ void softmax_online(const float* __restrict__ in, float* __restrict__ out, int columns) {
    __shared__ Running parts[kWarps];
    const float* x = in + blockIdx.x * columns;
    float* y = out + blockIdx.x * columns;
    Running own{-INFINITY, 0.0f};
    for (int i = threadIdx.x; i < columns; i += kThreads) own = merge(own, Running{x[i], 1.0f});
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    own = merge_warp(own);
    if (lane == 0) parts[warp] = own;
    __syncthreads();
    if (warp == 0) {
        own = merge_warp(lane < kWarps ? parts[lane] : Running{-INFINITY, 0.0f});
        if (lane == 0) parts[0] = own;
    }
    __syncthreads();
    const float top = parts[0].top, by = 1.0f / parts[0].sum;
    for (int i = threadIdx.x; i < columns; i += kThreads) y[i] = expf(x[i] - top) * by;
}

__global__ void row_max(const float* in, float* tops, int columns) {
    __shared__ float parts[kWarps];
    const float* x = in + blockIdx.x * columns;
    float own = -INFINITY;
    for (int i = threadIdx.x; i < columns; i += kThreads) own = fmaxf(own, x[i]);
    own = block_max(own, parts);
    if (threadIdx.x == 0) tops[blockIdx.x] = own;
}

__global__ void row_exp(const float* in, const float* tops, float* out, int columns) {
    const float* x = in + blockIdx.x * columns;
    float* y = out + blockIdx.x * columns;
    const float top = tops[blockIdx.x];
    for (int i = threadIdx.x; i < columns; i += kThreads) y[i] = expf(x[i] - top);
}

__global__ void row_sum(const float* in, float* sums, int columns) {
    __shared__ float parts[kWarps];
    const float* x = in + blockIdx.x * columns;
    float own = 0.0f;
    for (int i = threadIdx.x; i < columns; i += kThreads) own += x[i];
    own = block_sum(own, parts);
    if (threadIdx.x == 0) sums[blockIdx.x] = own;
}

__global__ void row_divide(float* values, const float* sums, int columns) {
    float* y = values + blockIdx.x * columns;
    const float by = 1.0f / sums[blockIdx.x];
    for (int i = threadIdx.x; i < columns; i += kThreads) y[i] *= by;
}

// -- normalisation -----------------------------------------------------------------------------------------------

// Mean and reciprocal deviation, from both moments of a row.
__device__ float2 moments(float sum, float squares, int columns, float (*parts)[kWarps], float2* found) {
    sum = block_sum(sum, parts[0]);
    squares = block_sum(squares, parts[1]);
    if (threadIdx.x == 0) {
        const float mean = sum / columns;
        *found = {mean, rsqrtf(squares / columns - mean * mean + kEps)};
    }
    __syncthreads();
    return *found;
}

__device__ void apply(const float* x, float* y, const float* weight, const float* bias, float mean, float by, int columns) {
    for (int i = threadIdx.x; i < columns; i += kThreads) y[i] = weight[i] * (x[i] - mean) * by + bias[i];
}

__global__ void norm_moments(const float* __restrict__ in, float* __restrict__ out, const float* __restrict__ weight,
                             const float* __restrict__ bias, int columns) {
    __shared__ float parts[2][kWarps];
    __shared__ float2 found;
    const float* x = in + blockIdx.x * columns;
    float sum = 0.0f, squares = 0.0f;
    for (int i = threadIdx.x; i < columns; i += kThreads) {
        const float value = x[i];
        sum += value;
        squares += value * value;
    }
    const float2 both = moments(sum, squares, columns, parts, &found);
    apply(x, out + blockIdx.x * columns, weight, bias, both.x, both.y, columns);
}

struct Spread {
    float mean, squares, count;
};

__device__ Spread join(Spread a, Spread b) {
    if (b.count == 0.0f) return a;
    const float count = a.count + b.count, apart = b.mean - a.mean;
    return {a.mean + apart * (b.count / count), a.squares + b.squares + apart * apart * (a.count * b.count / count), count};
}

__device__ Spread join_warp(Spread own) {
    for (int distance = 16; distance > 0; distance >>= 1) {
        Spread other{__shfl_xor_sync(0xffffffff, own.mean, distance), __shfl_xor_sync(0xffffffff, own.squares, distance),
                     __shfl_xor_sync(0xffffffff, own.count, distance)};
        own = join(own, other);
    }
    return own;
}

__global__ void norm_updates(const float* __restrict__ in, float* __restrict__ out, const float* __restrict__ weight,
                             const float* __restrict__ bias, int columns) {
    __shared__ float means[kWarps], squares[kWarps], counts[kWarps];
    __shared__ float row_mean, row_by;
    const float* x = in + blockIdx.x * columns;
    Spread own{0.0f, 0.0f, 0.0f};
    for (int i = threadIdx.x; i < columns; i += kThreads) {
        const float value = x[i];
        own.count += 1.0f;
        const float apart = value - own.mean;
        own.mean += apart / own.count;
        own.squares += apart * (value - own.mean);
    }
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    own = join_warp(own);
    if (lane == 0) {
        means[warp] = own.mean;
        squares[warp] = own.squares;
        counts[warp] = own.count;
    }
    __syncthreads();
    if (warp == 0) {
        own = lane < kWarps ? Spread{means[lane], squares[lane], counts[lane]} : Spread{0.0f, 0.0f, 0.0f};
        own = join_warp(own);
        if (lane == 0) {
            row_mean = own.mean;
            row_by = rsqrtf(own.squares / own.count + kEps);
        }
    }
    __syncthreads();
    apply(x, out + blockIdx.x * columns, weight, bias, row_mean, row_by, columns);
}

__global__ void norm_statistics(const float* in, float* means, float* by, int columns) {
    __shared__ float parts[2][kWarps];
    const float* x = in + blockIdx.x * columns;
    float own = 0.0f;
    for (int i = threadIdx.x; i < columns; i += kThreads) own += x[i];
    const float mean = block_sum(own, parts[0]) / columns;
    own = 0.0f;
    for (int i = threadIdx.x; i < columns; i += kThreads) own += (x[i] - mean) * (x[i] - mean);
    own = block_sum(own, parts[1]);
    if (threadIdx.x == 0) {
        means[blockIdx.x] = mean;
        by[blockIdx.x] = rsqrtf(own / columns + kEps);
    }
}

__global__ void norm_apply(const float* in, float* out, const float* weight, const float* bias, const float* means,
                           const float* by, int columns) {
    apply(in + blockIdx.x * columns, out + blockIdx.x * columns, weight, bias, means[blockIdx.x], by[blockIdx.x], columns);
}

__global__ void norm_residual(const float* __restrict__ in, const float* __restrict__ residual, float* __restrict__ kept,
                              float* __restrict__ out, const float* __restrict__ weight, const float* __restrict__ bias,
                              int columns) {
    __shared__ float parts[2][kWarps];
    __shared__ float2 found;
    const float *x = in + blockIdx.x * columns, *r = residual + blockIdx.x * columns;
    float* s = kept + blockIdx.x * columns;
    float sum = 0.0f, squares = 0.0f;
    for (int i = threadIdx.x; i < columns; i += kThreads) {
        const float value = x[i] + r[i];
        s[i] = value;
        sum += value;
        squares += value * value;
    }
    const float2 both = moments(sum, squares, columns, parts, &found);
    apply(s, out + blockIdx.x * columns, weight, bias, both.x, both.y, columns);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {4096, 4096}, {3, 700});
    const int rows = static_cast<int>(run.size(0)), columns = static_cast<int>(run.size(1));
    const size_t count = size_t(rows) * columns;
    chain::Array<float> in(count), out(count), residual(count), kept(count), weight(columns), bias(columns), firsts(rows), seconds(rows);
    std::vector<float> soft, normed, residual_normed;
    if (run.verify) {
        in.fill([](size_t i) { return chain::pattern(i, 1); });
        residual.fill([](size_t i) { return chain::pattern(i, 2); });
        weight.fill([](size_t i) { return chain::pattern(i, 3); });
        bias.fill([](size_t i) { return chain::pattern(i, 4); });
        for (int row = 0; row < rows; ++row) {
            const float *x = &in.host[size_t(row) * columns], *r = &residual.host[size_t(row) * columns];
            double exps = 0.0;
            for (int i = 0; i < columns; ++i) exps += std::exp(double(x[i]));
            for (int i = 0; i < columns; ++i) soft.push_back(float(std::exp(double(x[i])) / exps));
            for (bool added : {false, true}) {
                double mean = 0.0, squares = 0.0;
                auto value = [&](int i) { return double(x[i]) + (added ? r[i] : 0.0); };
                for (int i = 0; i < columns; ++i) mean += value(i) / columns;
                for (int i = 0; i < columns; ++i) squares += (value(i) - mean) * (value(i) - mean);
                for (int i = 0; i < columns; ++i) {
                    const double result = weight.host[i] * (value(i) - mean) / std::sqrt(squares / columns + kEps) + bias.host[i];
                    (added ? residual_normed : normed).push_back(float(result));
                }
            }
        }
    }
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    auto is_soft = [&] { return chain::close(out, soft, 1e-5); };
    auto is_normed = [&] { return chain::close(out, normed, 1e-4); };
    run.variant("softmax_walks", [&] { softmax_walks<<<rows, kThreads>>>(in, out, columns); }, is_soft, prepare);
    run.variant("softmax_online", [&] { softmax_online<<<rows, kThreads>>>(in, out, columns); }, is_soft, prepare);
    run.variant("softmax_kernels", [&] {
        row_max<<<rows, kThreads>>>(in, firsts, columns);
        row_exp<<<rows, kThreads>>>(in, firsts, out, columns);
        row_sum<<<rows, kThreads>>>(out, seconds, columns);
        row_divide<<<rows, kThreads>>>(out, seconds, columns);
    }, is_soft, prepare);
    run.variant("norm_moments", [&] { norm_moments<<<rows, kThreads>>>(in, out, weight, bias, columns); }, is_normed, prepare);
    run.variant("norm_updates", [&] { norm_updates<<<rows, kThreads>>>(in, out, weight, bias, columns); }, is_normed, prepare);
    run.variant("norm_kernels", [&] {
        norm_statistics<<<rows, kThreads>>>(in, firsts, seconds, columns);
        norm_apply<<<rows, kThreads>>>(in, out, weight, bias, firsts, seconds, columns);
    }, is_normed, prepare);
    run.variant("norm_residual", [&] { norm_residual<<<rows, kThreads>>>(in, residual, kept, out, weight, bias, columns); },
                [&] { return chain::close(out, residual_normed, 1e-4); }, prepare);
    return run.finish();
}
