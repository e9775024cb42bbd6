// Sums and scalar products by trees of blocks of 1024 threads. one_*: 2048 floats by one block, in global memory with growing
// distances (which diverges) or with shrinking ones, or in shared memory. Others add up with an atomic per block: two or
// eight floats per thread. SIZE is their number of floats.
#include "common.h"

constexpr int kThreads = 1024, kEach = 4;

__global__ void one_diverging(float* in, float* out) {
    const int i = 2 * threadIdx.x;
    for (int distance = 1; distance <= blockDim.x; distance *= 2) {
        if (threadIdx.x % distance == 0) in[i] += in[i + distance];
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = in[0];
}

__global__ void one_converging(float* in, float* out) {
    const int i = threadIdx.x;
    for (int distance = blockDim.x; distance >= 1; distance /= 2) {
        if (threadIdx.x < distance) in[i] += in[i + distance];
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = in[0];
}

__global__ void one_shared(float* in, float* out) {
    __shared__ float shared[kThreads];
    const int i = threadIdx.x;
    shared[i] = in[i] + in[i + kThreads];
    for (int distance = blockDim.x / 2; distance >= 1; distance /= 2) {
        __syncthreads();
        if (threadIdx.x < distance) shared[i] += shared[i + distance];
    }
    if (threadIdx.x == 0) *out = shared[0];
}

__device__ void add_up(float value, float* out) {
    __shared__ float shared[kThreads];
    const int thread = threadIdx.x;
    shared[thread] = value;
    for (int distance = blockDim.x / 2; distance > 0; distance /= 2) {
        __syncthreads();
        if (thread < distance) shared[thread] += shared[thread + distance];
    }
    if (thread == 0) atomicAdd(out, shared[0]);
}

__global__ void sum_two(const float* in, float* out, int n) {
    const int i = 2 * blockDim.x * blockIdx.x + threadIdx.x;
    const float first = i < n ? in[i] : 0.0f, second = i + kThreads < n ? in[i + kThreads] : 0.0f;
    add_up(first + second, out);
}

__global__ void sum_eight(const float* in, float* out, int n) {
    const int first = 2 * kEach * blockDim.x * blockIdx.x + threadIdx.x;
    float sum = 0.0f;
    if (first < n) {
        sum = in[first];
        for (int e = 1; e < 2 * kEach; ++e)
            if (first + e * kThreads < n) sum += in[first + e * kThreads];
    }
    add_up(sum, out);
}

__global__ void dot_two(const float* a, const float* b, float* out, int n) {
    const int i = 2 * blockDim.x * blockIdx.x + threadIdx.x;
    float sum = 0.0f;
    if (i < n) sum += a[i] * b[i];
    if (i + kThreads < n) sum += a[i + kThreads] * b[i + kThreads];
    add_up(sum, out);
}

__global__ void dot_eight(const float* a, const float* b, float* out, int n) {
    const int first = 2 * kEach * blockDim.x * blockIdx.x + threadIdx.x;
    float sum = 0.0f;
    for (int e = 0; e < 2 * kEach; ++e) {
        const int i = first + e * kThreads;
        if (i < n) sum += a[i] * b[i];
    }
    add_up(sum, out);
}

__global__ void dot_eight_fma(const float* a, const float* b, float* out, int n) {
    const int first = 2 * kEach * blockDim.x * blockIdx.x + threadIdx.x;
    float sum = 0.0f;
    for (int e = 0; e < 2 * kEach; ++e) {
        const int i = first + e * kThreads;
        if (i < n) sum = fmaf(a[i], b[i], sum);
    }
    add_up(sum, out);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1 << 20}, {20'000});
    const int n = static_cast<int>(run.size(0));
    chain::Array<float> a(n), b(n), out(1);
    std::vector<float> few(1), sum(1), dot(1);
    if (run.verify) {
        a.fill([](size_t i) { return chain::pattern(i, 1); });
        b.fill([](size_t i) { return chain::pattern(i, 2); });
        for (int i = 0; i < n; ++i) {
            few[0] += i < 2 * kThreads ? a.host[i] : 0.0f;
            sum[0] += a.host[i];
            dot[0] += a.host[i] * b.host[i];
        }
    }
    auto is = [&](const std::vector<float>& expected) {
        return [&] { return chain::close(out, expected, 1e-3); };
    };
    auto again = [&] { if (run.verify) a.upload(); };
    auto clear = [&] { if (run.verify) a.upload(); CHECK(cudaMemset(out, 0, sizeof(float))); };
    const int many = chain::ceil_div(n, 2 * kThreads), fewer = chain::ceil_div(n, 2 * kThreads * kEach);
    run.variant("one_diverging", [&] { one_diverging<<<1, kThreads>>>(a, out); }, is(few), again);
    run.variant("one_converging", [&] { one_converging<<<1, kThreads>>>(a, out); }, is(few), again);
    run.variant("one_shared", [&] { one_shared<<<1, kThreads>>>(a, out); }, is(few), again);
    run.variant("sum_two", [&] { sum_two<<<many, kThreads>>>(a, out, n); }, is(sum), clear);
    run.variant("sum_eight", [&] { sum_eight<<<fewer, kThreads>>>(a, out, n); }, is(sum), clear);
    run.variant("dot_two", [&] { dot_two<<<many, kThreads>>>(a, b, out, n); }, is(dot), clear);
    run.variant("dot_eight", [&] { dot_eight<<<fewer, kThreads>>>(a, b, out, n); }, is(dot), clear);
    run.variant("dot_eight_fma", [&] { dot_eight_fma<<<fewer, kThreads>>>(a, b, out, n); }, is(dot), clear);
    return run.finish();
}
