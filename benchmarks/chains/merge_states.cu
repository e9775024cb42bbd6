// Merges two partial results of attention: outputs weighted by their sums of exponentials, 16 bytes of a head per
// thread, blocks of 128 threads. SIZES are tokens, heads and the size of a head.
#include <cuda_fp16.h>

#include "common.h"

constexpr unsigned kThreads = 128, kEach = 8;

__global__ void merge(half* out, float* out_lse, const half* prefix, const float* prefix_lse, const half* suffix,
                      const float* suffix_lse, unsigned tokens, unsigned heads, unsigned head_size) {
    const unsigned per_head = head_size / kEach, index = blockIdx.x * kThreads + threadIdx.x;
    if (index >= tokens * heads * per_head) return;
    const unsigned token = index / per_head / heads, head = index / per_head % heads, part = index % per_head;
    const unsigned offset = (token * heads + head) * head_size;
    float p = prefix_lse[head * tokens + token], s = suffix_lse[head * tokens + token];
    p = isinf(p) ? -INFINITY : p;
    s = isinf(s) ? -INFINITY : s;
    const float largest = fmaxf(p, s);
    p = expf(p - largest);
    s = expf(s - largest);
    const float sum = p + s, p_scale = p / sum, s_scale = s / sum;
    uint4 of_prefix = reinterpret_cast<const uint4*>(prefix + offset)[part];
    uint4 of_suffix = reinterpret_cast<const uint4*>(suffix + offset)[part], merged;
#pragma unroll
    for (unsigned i = 0; i < kEach; ++i)
        reinterpret_cast<half*>(&merged)[i] = __float2half(__half2float(reinterpret_cast<half*>(&of_prefix)[i]) * p_scale +
                                                           __half2float(reinterpret_cast<half*>(&of_suffix)[i]) * s_scale);
    reinterpret_cast<uint4*>(out + offset)[part] = merged;
    if (out_lse != nullptr && part == 0) out_lse[head * tokens + token] = logf(sum) + largest;
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {4096, 32, 128}, {10, 3, 64});
    const unsigned tokens = run.size(0), heads = run.size(1), head_size = run.size(2);
    const size_t states = size_t(tokens) * heads, count = states * head_size;
    chain::Array<half> prefix(count), suffix(count), out(count);
    chain::Array<float> prefix_lse(states), suffix_lse(states), out_lse(states);
    std::vector<float> expected(run.verify ? count : 0);
    if (run.verify) {
        prefix.fill([](size_t i) { return chain::pattern(i, 1); });
        suffix.fill([](size_t i) { return chain::pattern(i, 2); });
        prefix_lse.fill([](size_t i) { return chain::pattern(i, 3); });
        suffix_lse.fill([](size_t i) { return chain::pattern(i, 4); });
        for (unsigned token = 0; token < tokens; ++token)
            for (unsigned head = 0; head < heads; ++head)
                for (unsigned i = 0; i < head_size; ++i) {
                    const size_t at = (size_t(token) * heads + head) * head_size + i, state = size_t(head) * tokens + token;
                    const float p = std::exp(prefix_lse.host[state]), s = std::exp(suffix_lse.host[state]);
                    expected[at] = (float(prefix.host[at]) * p + float(suffix.host[at]) * s) / (p + s);
                }
    }
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    auto check = [&] { return chain::close(out, expected, 2e-3); };
    const int blocks = chain::ceil_div(count / kEach, kThreads);
    run.variant("merge", [&] { merge<<<blocks, kThreads>>>(out, out_lse, prefix, prefix_lse, suffix, suffix_lse, tokens, heads, head_size); }, check, prepare);
    return run.finish();
}
