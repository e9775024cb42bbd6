// One pass over a vector of 32-bit numbers with blocks of 256 threads: what it costs to add, to leave seven of eight
// elements out, to gather, to let every other lane do more, to sum, to count and to meet in one counter. SIZE is the
// number of elements. All inputs (also indices and numbers to count) are zero while timing, as they were published.
#include "common.h"

constexpr int kThreads = 256, kBins = 256, kRounds = 100;

__global__ void add(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

__global__ void scaled_add(float alpha, const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = alpha * a[i] + b[i];
}

__global__ void copy_eighth(const float* __restrict__ a, float* __restrict__ c, int n) {
    const int i = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    if (i < n) c[i] = a[i];
}

__global__ void gather(const float* __restrict__ a, const int* __restrict__ index, float* __restrict__ c, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[index[i]];
}

// Even lanes run a loop of 128 additions that odd lanes wait for.
__global__ void divergent_add(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (i % 2 == 0) {
        float sum = 0.0f;
#pragma unroll 16
        for (int round = 0; round < 128; ++round) sum += 0.0001f * round;
        c[i] = a[i] + b[i] + sum;
    } else {
        c[i] = a[i] + b[i];
    }
}

__device__ void fold(float value, float* partial) {
    extern __shared__ float sums[];
    sums[threadIdx.x] = value;
    __syncthreads();
    for (int distance = blockDim.x / 2; distance > 0; distance /= 2) {
        if (threadIdx.x < distance) sums[threadIdx.x] += sums[threadIdx.x + distance];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = sums[0];
}

__global__ void block_sums(const float* __restrict__ a, float* __restrict__ partial, int n) {
    const int i = blockIdx.x * blockDim.x * 2 + threadIdx.x;
    float sum = 0.0f;
    if (i < n) sum += a[i];
    if (i + blockDim.x < n) sum += a[i + blockDim.x];
    fold(sum, partial);
}

__global__ void block_dots(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ partial, int n) {
    const int i = blockIdx.x * blockDim.x * 2 + threadIdx.x;
    float sum = 0.0f;
    if (i < n) sum += a[i] * b[i];
    if (i + blockDim.x < n) sum += a[i + blockDim.x] * b[i + blockDim.x];
    fold(sum, partial);
}

__global__ void histogram(const unsigned* __restrict__ in, int n, unsigned* __restrict__ bins) {
    extern __shared__ unsigned own[];
    for (int bin = threadIdx.x; bin < kBins; bin += blockDim.x) own[bin] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        atomicAdd(&own[in[i] & (kBins - 1)], 1);
    __syncthreads();
    for (int bin = threadIdx.x; bin < kBins; bin += blockDim.x) atomicAdd(&bins[bin], own[bin]);
}

__global__ void one_counter(unsigned* counter, int rounds) {
    for (int round = 0; round < rounds; ++round) atomicAdd(counter, 1u);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1 << 20}, {5000});
    const int n = static_cast<int>(run.size(0)), blocks = chain::ceil_div(n, kThreads);
    const int half = chain::ceil_div(n, 2 * kThreads);
    chain::Array<float> a(n), b(n), c(n), partial(half);
    chain::Array<int> index(n);
    chain::Array<unsigned> counts(kBins);
    CHECK(cudaMemset(index, 0, size_t(n) * sizeof(int)));
    double total = 0.0, product = 0.0;
    std::vector<unsigned> expected_bins(kBins);
    if (run.verify) {
        a.fill([](size_t i) { return chain::pattern(i, 1); });
        b.fill([](size_t i) { return chain::pattern(i, 2); });
        index.fill([n](size_t i) { return int(i * 7919 % n); });
        for (int i = 0; i < n; ++i) {
            total += a.host[i];
            product += double(a.host[i]) * b.host[i];
            ++expected_bins[index.host[i] % kBins];
        }
    }
    auto prepare = [&] {
        if (run.verify) chain::poison(c);
        CHECK(cudaMemset(counts, 0, kBins * sizeof(unsigned)));
    };
    // True if c holds what `value` gives for each element; elements that it calls NaN are not looked at.
    auto each = [&](const std::function<double(int)>& value) {
        std::vector<float> actual = c.download();
        for (int i = 0; i < n; ++i)
            if (!std::isnan(value(i)) && !(std::fabs(actual[i] - value(i)) < 1e-5)) return false;
        return true;
    };
    auto sums_to = [&](double expected) {
        double sum = 0.0;
        for (float value : partial.download()) sum += value;
        return std::fabs(sum - expected) < 1e-2;
    };
    const float *x = a.host.data(), *y = b.host.data();
    const int* at = index.host.data();
    double extra = 0.0;
    for (int round = 0; round < 128; ++round) extra += 0.0001 * round;

    run.variant("add", [&] { add<<<blocks, kThreads>>>(a, b, c, n); },
                [&] { return each([&](int i) { return x[i] + y[i]; }); }, prepare);
    run.variant("scaled_add", [&] { scaled_add<<<blocks, kThreads>>>(2.0f, a, b, c, n); },
                [&] { return each([&](int i) { return 2.0f * x[i] + y[i]; }); }, prepare);
    run.variant("copy_eighth", [&] { copy_eighth<<<chain::ceil_div(chain::ceil_div(n, 8), kThreads), kThreads>>>(a, c, n); },
                [&] { return each([&](int i) { return i % 8 ? std::nan("") : x[i]; }); }, prepare);
    run.variant("gather", [&] { gather<<<blocks, kThreads>>>(a, index, c, n); },
                [&] { return each([&](int i) { return x[at[i]]; }); }, prepare);
    run.variant("divergent_add", [&] { divergent_add<<<blocks, kThreads>>>(a, b, c, n); },
                [&] { return each([&](int i) { return x[i] + y[i] + (i % 2 ? 0.0 : extra); }); }, prepare);
    run.variant("block_sums", [&] { block_sums<<<half, kThreads, kThreads * sizeof(float)>>>(a, partial, n); },
                [&] { return sums_to(total); }, prepare);
    run.variant("block_dots", [&] { block_dots<<<half, kThreads, kThreads * sizeof(float)>>>(a, b, partial, n); },
                [&] { return sums_to(product); }, prepare);
    run.variant("histogram",
                [&] { histogram<<<blocks, kThreads, kBins * sizeof(unsigned)>>>(reinterpret_cast<unsigned*>(index.data), n, counts); },
                [&] { return chain::close(counts, expected_bins, 0.0); }, prepare);
    run.variant("one_counter", [&] { one_counter<<<blocks, kThreads>>>(counts, kRounds); },
                [&] { return counts.download()[0] == unsigned(blocks) * kThreads * kRounds; }, prepare);
    return run.finish();
}
