// Sums of an array's parts, a block for each: from trees over neighbours to threads that add several elements first.
// Names end in the threads of a block, or in the elements of a thread. SIZE is the number of elements.
#include "common.h"

// kOrder 0: neighbours first, every second thread; 1: the same by neighbouring threads; 2: halves; 3: halves, with the
// barrier before the addition.
template <int kThreads, int kOrder>
__global__ void tree(float* __restrict__ out, const float* __restrict__ in, size_t each) {
    __shared__ float sums[kThreads];
    const size_t thread = threadIdx.x;
    in += blockIdx.x * each;
    sums[thread] = in[thread];
    if (kOrder < 3) __syncthreads();
    if (kOrder == 0) {
        for (size_t stride = 1; stride < kThreads; stride *= 2) {
            if (thread % (2 * stride) == 0) sums[thread] += sums[thread + stride];
            __syncthreads();
        }
    } else if (kOrder == 1) {
        for (size_t stride = 1; stride < kThreads; stride *= 2) {
            const size_t index = 2 * stride * thread;
            if (index < kThreads) sums[index] += sums[index + stride];
            __syncthreads();
        }
    } else {
        for (size_t stride = kThreads / 2; stride > 0; stride /= 2) {
            if (kOrder == 3) __syncthreads();
            if (thread < stride) sums[thread] += sums[thread + stride];
            if (kOrder == 2) __syncthreads();
        }
    }
    if (thread == 0) out[blockIdx.x] = sums[0];
}

// Every thread adds some elements first: a block's width apart, or (kInARow) next to each other.
template <int kThreads, bool kInARow>
__global__ void several(float* __restrict__ out, const float* __restrict__ in, size_t each) {
    __shared__ float sums[kThreads];
    const size_t thread = threadIdx.x, count = (each + kThreads - 1) / kThreads;
    in += blockIdx.x * each;
    float sum = 0.0f;
    for (size_t i = 0; i < count; ++i) {
        const size_t at = kInARow ? thread * count + i : thread + i * kThreads;
        if (at < each) sum += in[at];
    }
    sums[thread] = sum;
    for (size_t stride = kThreads / 2; stride > 0; stride /= 2) {
        __syncthreads();
        if (thread < stride) sums[thread] += sums[thread + stride];
    }
    if (thread == 0) out[blockIdx.x] = sums[0];
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1 << 29}, {1 << 14});
    const size_t n = run.size(0);
    chain::Array<float> in(n), out(n / 128);
    if (run.verify) in.fill([](size_t i) { return chain::pattern(i, 1); });
    auto add = [&](const std::string& name, auto* kernel, int threads, size_t each) {
        auto check = [&, each] {
            std::vector<double> expected(n / each, 0.0);
            for (size_t i = 0; i < n; ++i) expected[i / each] += in.host[i];
            return chain::close(out, expected, 1e-4, 10.0);
        };
        run.variant(name.c_str(), [=, &in, &out] { kernel<<<chain::ceil_div(n, each), threads>>>(out, in, each); }, check);
    };
    add("neighbours_128", tree<128, 0>, 128, 128);
    add("neighbours_256", tree<256, 0>, 256, 256);
    add("neighbours_512", tree<512, 0>, 512, 512);
    add("neighbours_1024", tree<1024, 0>, 1024, 1024);
    add("together", tree<128, 1>, 128, 128);
    add("halves", tree<128, 2>, 128, 128);
    add("barrier_first", tree<128, 3>, 128, 128);
    for (int count : {1, 2, 4, 32}) add("several_" + std::to_string(count), several<128, false>, 128, size_t(128) * count);
    add("in_a_row_32", several<128, true>, 128, 128 * 32);
    return run.finish();
}
